//! A fuzzer for pages that are put together.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ibid_fuzz::run("page_assembly", input));
