//! A fuzzer for hosts and addresses.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ibid_fuzz::run("host_rules", input));
