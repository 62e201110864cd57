//! A fuzzer for calls of tools that a model writes as text.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ibid_fuzz::run("written_calls", input));
