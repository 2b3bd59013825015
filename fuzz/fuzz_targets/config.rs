//! The parser of `windlass.toml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    if let Err(why) = windlass::check_config(&text) {
        assert!(!why.trim().is_empty());
    }
});
