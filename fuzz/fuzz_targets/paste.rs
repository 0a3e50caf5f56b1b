#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kafkascope_fuzz::paste::run(data));
