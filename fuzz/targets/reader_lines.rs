//! A fuzzer for what a reading process says.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ibid_fuzz::run("reader_lines", input));
