//! A fuzzer for the schemas of formats and what is written in them.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ibid_fuzz::run("format_schema", input));
