//! See `windlass_testkit::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| windlass_testkit::fuzz::acp_json(bytes));
