//! A fuzzer for pages that become chunks.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ibid_fuzz::run("chunking", input));
