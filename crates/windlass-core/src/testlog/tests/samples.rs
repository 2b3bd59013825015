//! What the runners wrote, shortened where it does not matter.

pub(super) const CARGO: &str = r#"   Compiling x v0.1.0 (/src/x)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.23s
     Running unittests src/lib.rs (target/debug/deps/x-b885370c02d1f6ea)

running 4 tests
test tests::ig ... ignored
test tests::ok ... ok
test tests::sp - should panic ... FAILED
test tests::bad ... FAILED

failures:

---- tests::sp stdout ----
note: test did not panic as expected at src/lib.rs:5:125
---- tests::bad stdout ----
hello

thread 'tests::bad' (24873) panicked at src/lib.rs:5:83:
no
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    tests::bad
    tests::sp

test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.08s

error: test failed, to rerun pass `--lib`
     Running tests/t.rs (target/debug/deps/t-901b3a212c24d699)

running 1 test
test it_fails ... FAILED

failures:

---- it_fails stdout ----
Error: "x"


failures:
    it_fails

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--test t`
   Doc-tests x

running 1 test
test src/lib.rs - f (line 1) ... FAILED

failures:

---- src/lib.rs - f (line 1) stdout ----
Test executable failed (exit status: 101).


failures:
    src/lib.rs - f (line 1)

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.15s

error: doctest failed, to rerun pass `--doc`
error: 3 targets failed:
    `--lib`
    `--test t`
    `--doc`
"#;

pub(super) const CARGO_TORN: &str = r#"running 2 tests
test tests::ok ... ok
test tests::bad ... words of the test itself
FAILED

failures:

failures:
    tests::bad

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"#;

pub(super) const CARGO_NOTHING: &str = r#"running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s

   Doc-tests x

running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"#;

pub(super) const CARGO_COMPILE_ERROR: &str = r#"   Compiling x v0.1.0 (/src/x)
error[E0425]: cannot find value `y` in this scope
 --> src/lib.rs:1:17
  |
1 | pub fn f() -> u8 { y }
  |                    ^ not found in this scope

error: could not compile `x` (lib test) due to 1 previous error
"#;

pub(super) const NEXTEST: &str = r#"    Finished `test` profile [unoptimized + debuginfo] target(s) in 0.04s
────────────
 Nextest run ID 5a6f with nextest profile: default
    Starting 4 tests across 2 binaries
        PASS [   0.003s] (1/4) app tests::ok
        FAIL [   0.004s] (2/4) app tests::bad
  stdout ───

    running 1 test
    test tests::bad ... FAILED

        SLOW [> 60.000s] app::web tests::slow
     TIMEOUT [ 120.003s] (3/4) app::web tests::slow
        PASS [   0.003s] (4/4) app tests::other
────────────
     Summary [ 120.006s] 4 tests run: 2 passed, 1 failed, 1 timed out, 1 skipped
        FAIL [   0.004s] (2/4) app tests::bad
     TIMEOUT [ 120.003s] (3/4) app::web tests::slow
error: test run failed
"#;

pub(super) const NEXTEST_RETRIES: &str = r#"    Starting 2 tests across 1 binary
  TRY 1 FAIL [   0.004s] app tests::flaky
  TRY 2 PASS [   0.004s] app tests::flaky
  TRY 1 FAIL [   0.004s] app tests::bad
  TRY 2 FAIL [   0.004s] app tests::bad
────────────
     Summary [   0.020s] 2/3 tests run: 1 passed (1 flaky), 1 failed, 0 skipped
   FLAKY 2/2 [   0.004s] app tests::flaky
  TRY 2 FAIL [   0.004s] app tests::bad
error: test run failed
"#;

pub(super) const PYTEST: &str = r#"============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.7.0
rootdir: /src/py
collected 8 items

test_a.py .FFFFEsx                                                       [100%]

==================================== ERRORS ====================================
__________________________ ERROR at setup of test_err __________________________

    @pytest.fixture
>   def broken(): raise ValueError("x")
E   ValueError: x

test_a.py:9: ValueError
=================================== FAILURES ===================================
___________________________________ test_bad ___________________________________

>   def test_bad(): assert 1 == 2
E   assert 1 == 2

test_a.py:3: AssertionError
=========================== short test summary info ============================
FAILED test_a.py::test_bad - assert 1 == 2
FAILED test_a.py::test_p[a b] - AssertionError: assert 'a b' == 'q'
FAILED test_a.py::test_p[c - d] - AssertionError: assert 'c - d' == 'q'
FAILED test_a.py::TestC::test_m - assert [1] - [2]
ERROR test_a.py::test_err - ValueError: x
========== 4 failed, 1 passed, 1 skipped, 1 xfailed, 1 error in 0.03s ==========
"#;

pub(super) const PYTEST_QUIET: &str = r#"........................................................................ [ 96%]
...                                                                      [100%]
75 passed, 2 warnings in 75.20s (0:01:15)
"#;

pub(super) const PYTEST_VERBOSE: &str = r#"collecting ... collected 2 items

test_a.py::test_ok PASSED                                                [ 50%]
test_a.py::test_bad FAILED                                               [100%]

========================= 1 failed, 1 passed in 0.03s ==========================
"#;

pub(super) const PYTEST_BROKEN_IMPORT: &str = r#"==================================== ERRORS ====================================
__________________________ ERROR collecting test_b.py __________________________
E   ModuleNotFoundError: No module named 'door'
=========================== short test summary info ============================
ERROR test_b.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 0.05s ===============================
"#;

pub(super) const PYTEST_NOTHING: &str = r#"============================= test session starts ==============================
collected 0 items

============================ no tests ran in 0.00s =============================
"#;

pub(super) const GO: &str = "# ex.com/a/c [ex.com/a/c.test]\n\
c/c_test.go:3:28: undefined: x\n\
--- FAIL: TestBad (0.00s)\n\
\x20   a_test.go:4: bad\n\
--- FAIL: TestSub (0.00s)\n\
\x20   --- FAIL: TestSub/one_two (0.00s)\n\
\x20       a_test.go:5: x\n\
FAIL\n\
FAIL\tex.com/a\t0.004s\n\
?   \tex.com/a/b\t[no test files]\n\
FAIL\tex.com/a/c [build failed]\n\
FAIL\n";

pub(super) const GO_VERBOSE: &str = "=== RUN   TestOk\n\
--- PASS: TestOk (0.00s)\n\
=== RUN   TestBad\n\
\x20   a_test.go:4: bad\n\
--- FAIL: TestBad (0.00s)\n\
=== RUN   TestSub\n\
=== RUN   TestSub/one_two\n\
\x20   a_test.go:5: x\n\
=== RUN   TestSub/fine\n\
--- FAIL: TestSub (0.00s)\n\
\x20   --- FAIL: TestSub/one_two (0.00s)\n\
\x20   --- PASS: TestSub/fine (0.00s)\n\
FAIL\n\
FAIL\tex.com/a\t0.003s\n\
FAIL\n";

pub(super) const GO_JSON: &str = r#"{"Time":"2026-01-05T20:14:44.308326734Z","Action":"start","Package":"ex.com/a"}
{"Time":"2026-01-05T20:14:44.310853326Z","Action":"run","Package":"ex.com/a","Test":"TestOk"}
{"Time":"2026-01-05T20:14:44.310905792Z","Action":"pass","Package":"ex.com/a","Test":"TestOk","Elapsed":0}
{"Time":"2026-01-05T20:14:44.310910403Z","Action":"run","Package":"ex.com/a","Test":"TestBad"}
{"Time":"2026-01-05T20:14:44.3109171Z","Action":"output","Package":"ex.com/a","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Time":"2026-01-05T20:14:44.310919018Z","Action":"fail","Package":"ex.com/a","Test":"TestBad","Elapsed":0}
{"Time":"2026-01-05T20:14:44.31094899Z","Action":"output","Package":"ex.com/a","Output":"FAIL\n"}
{"Time":"2026-01-05T20:14:44.311319015Z","Action":"fail","Package":"ex.com/a","Elapsed":0.003}
{"ImportPath":"ex.com/a/c [ex.com/a/c.test]","Action":"build-output","Output":"c/c_test.go:3:28: undefined: x\n"}
{"ImportPath":"ex.com/a/c [ex.com/a/c.test]","Action":"build-fail"}
"#;

pub(super) const GO_NOTHING: &str = "?   \tex.com/a/b\t[no test files]\n\
ok  \tex.com/a\t0.003s [no tests to run]\n";

pub(super) const GO_PASS: &str = "ok  \tex.com/a\t(cached)\n\
?   \tex.com/a/b\t[no test files]\n";

pub(super) const JEST: &str = r#"PASS src/window.test.js
FAIL src/door.test.js (5.21 s)
  ● Console

    console.log
      squeak

  ● door › opens

    expect(received).toBe(expected) // Object.is equality

    Expected: true
    Received: false

      at Object.toBe (src/door.test.js:4:20)

Summary of all failing tests
FAIL src/door.test.js (5.21 s)
  ● door › opens

    expect(received).toBe(expected) // Object.is equality

Test Suites: 1 failed, 1 passed, 2 total
Tests:       1 failed, 2 skipped, 3 passed, 6 total
Snapshots:   0 total
Time:        6.012 s
Ran all test suites.
"#;

pub(super) const JEST_NOTHING: &str = r#"No tests found, exiting with code 0
"#;

pub(super) const VITEST: &str = r#"
 RUN  v3.2.4 /src/app

 ✓ src/window.test.ts (2 tests) 2ms
 ❯ src/door.test.ts (3 tests | 1 failed | 1 skipped) 5ms
   ✓ door > closes 1ms
   × door > opens 3ms
     → expected false to be true // Object.is equality

⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

 FAIL  src/door.test.ts > door > opens
AssertionError: expected false to be true // Object.is equality
 ❯ src/door.test.ts:5:18

 Test Files  1 failed | 1 passed (2)
      Tests  1 failed | 3 passed | 1 skipped (5)
   Start at  10:00:00
   Duration  312ms
"#;

pub(super) const VITEST_NOTHING: &str = r#"
 RUN  v3.2.4 /src/app

No test files found, exiting with code 0
"#;

pub(super) const TAP_NODE: &str = r#"TAP version 13
# Subtest: ok one
ok 1 - ok one
  ---
  duration_ms: 1.166629
  ...
# Subtest: bad \# two
not ok 2 - bad \# two
  ---
  duration_ms: 1.003229
  error: |-
    not ok 9 - quoted from elsewhere
  code: 'ERR_ASSERTION'
  ...
# Subtest: suite
    # Subtest: inner bad
    not ok 1 - inner bad
      ---
      error: 'x'
      ...
    # Subtest: inner ok
    ok 2 - inner ok
      ---
      duration_ms: 0.144522
      ...
    1..2
not ok 3 - suite
  ---
  type: 'suite'
  error: '1 subtest failed'
  ...
# Subtest: later
not ok 4 - later # TODO
# Subtest: skipped
ok 5 - skipped # SKIP
1..5
# tests 6
# pass 2
# fail 2
"#;

pub(super) const TAP_PLAIN: &str = r#"1..4
ok 1
not ok 2
not ok 3 - the third
ok 4 # skip no door here
"#;

pub(super) const TAP_NOTHING: &str = r#"TAP version 13
1..0 # SKIP nothing to do
"#;
