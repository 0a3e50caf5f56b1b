#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kafkascope_fuzz::capture::run(data));
