//! A fuzzer for what a model's server sends.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ibid_fuzz::run("chat_stream", input));
