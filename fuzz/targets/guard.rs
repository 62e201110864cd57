//! A fuzzer for answers and their sources.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ibid_fuzz::run("guard", input));
