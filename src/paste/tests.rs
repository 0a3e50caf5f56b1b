//! The samples are what the named tools print for the bytes beside them.

use super::*;

/// `ApiVersions` v3, client id `rdkafka`, then text that looks like hex.
const BYTES: &[u8] = b"\x00\x00\x00\x15\x00\x12\x00\x03\x00\x00\x00\x07\x00\x07rdkafka\x00ab cd ";
const SHORT: &[u8] = &[0, 0, 0, 15, 0, 0x3c, 0, 2];

fn taken(input: &str) -> (Vec<u8>, Form) {
    match parse(input.as_bytes()) {
        Ok(pasted) => (pasted.bytes, pasted.form),
        Err(error) => panic!("{error}\n{input}"),
    }
}

fn error(input: &str) -> String {
    match parse(input.as_bytes()) {
        Ok(pasted) => panic!("{:?} {}\n{input}", pasted, pasted.bytes.escape_ascii()),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn all(form: Form, bytes: &[u8], inputs: &[&str]) {
    for input in inputs {
        assert_eq!(taken(input), (bytes.to_vec(), form), "{input}");
    }
}

fn each(bytes: &[u8], print: impl Fn(u8) -> String) -> String {
    bytes.iter().map(|byte| print(*byte)).collect::<Vec<_>>().concat()
}

#[test]
fn plain_hex() {
    all(
        Form::Hex,
        SHORT,
        &[
            "0000000f003c0002",
            "0000000F003C0002\n",
            "0x0000000f003c0002",
            "0X0000000F003C0002",
            "0x0000000F003C0002",
            "0x0000000F\n0X003C0002",
            "00 00 00 0f 00 3c 00 02",
            "00:00:00:0f:00:3c:00:02",
            "00-00-00-0F-00-3C-00-02",
            "00, 00, 00, 0f, 00, 3c, 00, 02,",
            "0x00 0x00 0x00 0x0f 0x00 0x3c 0x00 0x02",
            "0x00,0x00,0x00,0x0f,0x00,0x3c,0x00,0x02",
            "0x0, 0x0, 0x0, 0xf, 0x0, 0x3c, 0x0, 0x2",
            "0000 000f\r\n003c 0002\r\n",
            "0000000f 003c 0002",
            "00;00;00;0f;00;3c;00;02",
            "00; 00; 00; 0f; 00; 3c; 00; 02",
            "00\u{a0}00\u{a0}00 0f\u{200b}00 3c 00 02",
            "\u{feff}0000000f003c0002",
            "\"0000000f003c0002\"",
            "b'0000000f003c0002'",
            "bytes.fromhex('0000 000f 003c 0002')",
            "Buffer.from(\"0000000f003c0002\", \"hex\")",
            "'0000000f' \\\n'003c0002'",
            "> 00 00 00 0f\n> 00 3c 00 02\n",
            "    00 00 00 0f\n\t00 3c 00 02",
            "00000\n00f003c0002",
        ],
    );
}

#[test]
fn hex_with_comments() {
    all(
        Form::Hex,
        SHORT,
        &[
            "00 00 00 0f  # size\n00 3c // api key\n00 02 ; version\n",
            "00 00 00 0f  -- size 15\n00 3c -- \"key\"\n00 02 --",
            "00 00 00 0f /* size\n 99 */ 00 3c 00 02",
            "# a frame\n00 00 00 0f\n// it's [1, 2] \"quoted\" \\x00\n00 3c 00 02 # \\n",
            "0000000f; add\n003c0002",
            "00 00 00 0f  ....\n00 3c 00 02  .<..",
            "00 00 00 0f 00 3c 00 02  |.....<..|",
        ],
    );
    let bytes = b"\x00ab cd\"[1, 2]".to_vec();
    assert_eq!(taken("00 61 62 20 63 64 22 5b  .ab cd\"[\n31 2c 20 32 5d  1, 2]"), (bytes, Form::Hex));
}

#[test]
fn logs() {
    all(
        Form::Hex,
        SHORT,
        &[
            "[2026-11-29 10:00:00] DEBUG sent: 00 00 00 0f 00 3c 00 02",
            "[2026-11-29 10:00:00] DEBUG sent: 00 00 00 0f\n[2026-11-29 10:00:01] DEBUG sent: 00 3c 00 02\n",
            "2026-11-29T10:00:00.123Z INFO  [main] took 10 ms: 00 00 00 0f 00 3c 00 02",
            "2026-11-29 10:00:00,123 sent 0000000f003c0002",
            "10:00:00.123456 00 00 00 0f 00 3c 00 02",
            "%7|1700000000.123|SEND|rdkafka#producer-1| [thrd:127.0.0.1:9092/1]: 00 00 00 0f 00 3c 00 02",
            "sent 8 bytes:\n00 00 00 0f 00 3c 00 02",
            "payload=0000000f003c0002",
            "[1] DEBUG sent: 00 00 00 0f 00 3c 00 02",
        ],
    );
    all(
        Form::Dump,
        SHORT,
        &[
            "%7|1700000000.123|SEND|rdkafka#producer-1| 00000000: 00 00 00 0f  ....\n%7|1700000000.123|SEND|rdkafka#producer-1| 00000004: 00 3c 00 02  .<..",
            "[2026-11-29 10:00:00] DEBUG 0000: 00 00 00 0f 00 3c 00 02",
        ],
    );
    all(Form::DecimalArray, SHORT, &["[2026-11-29 10:00:00] DEBUG [main] sent: [0, 0, 0, 15, 0, 60, 0, 2]"]);
    all(
        Form::Escapes,
        SHORT,
        &[r#"2026-11-29 10:00:00 DEBUG sent "\x00\x00\x00\x0f\x00<\x00\x02""#, r"sent: \x00\x00\x00\x0f\x00<\x00\x02"],
    );
    assert!(error("[2026-11-29 10:00:00] DEBUG sent: 00 00 00 zz 00").contains("column 44): found \"z\""));
}

#[test]
fn strings() {
    all(
        Form::Escapes,
        SHORT,
        &[
            r"b'\x00\x00\x00\x0f\x00<\x00\x02'",
            r#""\0\0\0\x0f\0<\0\2""#,
            r#""\x00\x00\x00\x0f\x00\x3c\x00\x02""#,
            r"\x00\x00\x00\x0f\x00\x3c\x00\x02",
            r"\x00 \x00 \x00 \x0f \x00 \x3c \x00 \x02",
            "\\x00\\x00\\x00\\x0f  # size\n\\x00\\x3c\\x00\\x02",
            r#""\u0000\u0000\u0000\u000f\u0000<\u0000\u0002""#,
            r#"b"\0\0\0\x0f\0<\0\x02""#,
            r#""\u{0}\u{0}\u{0}\u{f}\u{0}<\0\u{2}""#,
            r#"$1 = "\000\000\000\017\000<\000\002""#,
            "\"\\x00\\x00\\x00\\x0f\" \\\n\"\\x00\\x3c\\x00\\x02\"",
            "const char data[] =\n  \"\\0\\0\\0\\x0f\" /* size */\n  \"\\0<\\0\\2\"; // end\n",
            "x = (b'\\x00\\x00\\x00\\x0f'  # \"size\"\n     b'\\x00<\\x00\\x02')",
            r"bytearray(b'\x00\x00\x00\x0f\x00<\x00\x02')",
            r#"printf "\\x00\\x00\\x00\\x0f\\x00\\x3c\\x00\\x02" | nc localhost 9092"#,
            "> \"\\x00\\x00\\x00\\x0f\"\n> \"\\x00<\\x00\\x02\"",
        ],
    );
    all(Form::Escapes, b"\x00\n\t\r\\\"'a, [1, 2] # {3}\xc3\xa9", &["\"\\x00\\n\\t\\r\\\\\\\"'a, [1, 2] # {3}é\""]);
    all(
        Form::Escapes,
        BYTES,
        &[
            r"b'\x00\x00\x00\x15\x00\x12\x00\x03\x00\x00\x00\x07\x00\x07rdkafka\x00ab cd '",
            r#""\x00\x00\x00\x15\x00\x12\x00\x03\x00\x00\x00\a\x00\ardkafka\x00ab cd ""#,
        ],
    );
    all(Form::Escapes, b"hello", &["b'hello'"]);
    assert!(error(r#""\x00\q""#).starts_with("bad string at character 7 (line 1, column 7): found \"q\""));
    assert!(error(r#""\x00\ufffd""#).contains("lost"));
    assert!(error("\"\\x00\u{fffd}\"").contains("lost"));
    assert!(error("b'\\x00'\nb'\\x01', b'\\x02'").contains("a second one stands here"));
}

#[test]
fn arrays() {
    all(
        Form::HexArray,
        SHORT,
        &[
            "{0x00, 0x00, 0x00, 0x0f, 0x00, 0x3c, 0x00, 0x02}",
            "[]byte{0x0, 0x0, 0x0, 0xf, 0x0, 0x3c, 0x0, 0x2}",
            "static const unsigned char pkt1[8] = {\n0x00, 0x00, 0x00, 0x0f, /* .... */\n0x00, 0x3c, 0x00, 0x02  // .<..\n};",
            "unsigned char b[] = {\n  0x00, 0x00, 0x00, 0x0f, 0x00, 0x3c, 0x00, 0x02,\n};\nunsigned int b_len = 8;",
            "new byte[] {(byte)0x00, 0x00, 0x00, (byte) 0x0f, 0x00, 0x3c, 0x00, 0x02}",
            "bytes([0x00,0x00,0x00,0x0f,0x00,0x3c,0x00,0x02])",
            "{ '\\0', '\\0', '\\0', '\\x0f', '\\0', '<', '\\0', '\\2' }",
            "{0x00, 0x00, 0x00, 15, 0x00, '<', 0, 2}",
            "<Buffer 00 00 00 0f 00 3c 00 02>",
            "<0000000f 003c0002>",
            "[00, 00, 00, 0f, 00, 3c, 00, 02]",
            "[00 00 00 0f 00 3c 00 02]",
            "[0x00u8, 0x00, 0x00, 0x0f, 0x00, 0x3c, 0x00, 0x02]",
            "[0b00000000, 0x00, 0x00, 0b00001111, 0x00, 0x3c, 0x00, 0x02",
        ],
    );
    all(
        Form::DecimalArray,
        SHORT,
        &[
            "[0, 0, 0, 15, 0, 60, 0, 2]",
            "[0 0 0 15 0 60 0 2]",
            "0 0 0 15 0 60 0 2",
            "0, 0, 0, 15, 0, 60, 0, 2",
            "[0u8, 0, 0, 15, 0, 60, 0, 2]",
            "vec![0, 0, 0, 15, 0, 60, 0, 2]",
            "[\n    0,\n    0,\n    0,\n    15, # size\n    0,\n    60,\n    0,\n    2,\n]",
            r#"{"type":"Buffer","data":[0,0,0,15,0,60,0,2]}"#,
            r#"{"0":0,"1":0,"2":0,"3":15,"4":0,"5":60,"6":0,"7":2}"#,
            "Uint8Array(8) [\n  0, 0, 0, 15,\n  0, 60, 0, 2\n]",
            "Uint8Array [ 0, 0, 0, 15, 0, 60, 0, 2 ]",
            "byte[] data = new byte[]{0,0,0,15,0,60,0,2};",
            "array('B', [0, 0, 0, 15, 0, 60, 0, 2])",
            "byteArrayOf(0, 0, 0, 15, 0, 60, 0, 2)",
            "<<0,0,0,15,0,60,0,2>>",
        ],
    );
    all(
        Form::DecimalArray,
        &[0, 128, 255, 127],
        &["new byte[]{0, -128, -1, 127}", "0, 128, 255, 127", "[0,-128,-1,127]", "0 -128 -1 127", "000 128 255 127"],
    );
    all(Form::HexArray, &[0x80, 0], &["(byte)0x80, (byte)0x00"]);
    all(
        Form::DecimalArray,
        BYTES,
        &[
            "Uint8Array(28) [\n    0,  0,   0,  21,  0, 18,   0,   3,\n    0,  0,   0,   7,  0,  7, 114, 100,\n  107, 97, 102, 107, 97,  0,  97,  98,\n   32, 99, 100,  32\n]",
            "[0 0 0 21 0 18 0 3 0 0 0 7 0 7 114 100 107 97 102 107 97 0 97 98 32 99 100 32]",
        ],
    );
}

#[test]
fn pastes_with_things_around_them() {
    all(
        Form::Dump,
        SHORT,
        &[
            "$ xxd frame.bin\n00000000: 0000 000f 003c 0002                      .....<..\n",
            "(gdb) x/8xb buf\n0x7ffe4010:\t0x00\t0x00\t0x00\t0x0f\t0x00\t0x3c\t0x00\t0x02\n",
            "0000  00 00 00 0f 00 3c 00 02                            .....<..",
            "00000000  00 00 00 0f 00 3c 00 02                           |.....<..|",
            "    00000000: 0000 000f 003c 0002  .....<..\r\n",
            "0000   00 00 00 0f  ....\n0004   00 3c 00 02  .<..",
            "0000000 00 00 00 0f 00 3c 00 02",
            "00: 00 00 00 0f\n04: 00 3c 00 02",
        ],
    );
    all(
        Form::Hex,
        SHORT,
        &[
            "0000000f003c\n0002\n",
            "0000000f  # size\n003c      # api key, \"ListOffsets\" [2]\n0002\n",
            "Hex: 0000000f003c0002",
            "request: 00 00 00 0f 00 3c 00 02",
            "`0000000f003c0002`",
            "```\n0000000f003c0002\n```",
        ],
    );
}

#[test]
fn ambiguous_numbers() {
    all(Form::Hex, &[0, 0, 0, 0x15], &["00 00 00 15", "00000015"]);
    all(Form::HexArray, &[0, 0, 0, 0x15], &["[00, 00, 00, 15]", "<Buffer 00 00 00 15>"]);
    all(Form::Hex, &[0x10, 0x20], &["10 20", "10, 20"]);
    all(Form::DecimalArray, &[10, 20], &["[10, 20]"]);
    all(Form::HexArray, &[0x10, 0x20], &["<Buffer 10 20>"]);
}

#[test]
fn bad_arrays() {
    assert_eq!(
        error("[0, 0,\n 256]"),
        "bad array at character 9 (line 2, column 2): found \"256\", expected a number that fits in a byte, from -128 to 255"
    );
    assert!(error("{0x00, 0x0g}").contains("character 8 (line 1, column 8): found \"0x0g\""));
    assert!(error("<Buffer 00 00 00 0f ... 50 more bytes>").contains("cut short"));
    assert!(error("[0, 0, 0, 15, ... 50 more items]").contains("cut short"));
    assert!(error("char a[] = {0, 1}; char b[] = {0, 2};").contains("a second one begins here"));
    assert!(error("[0u8; 16]").contains("\";\""));
    assert!(error("[0, -129]").contains("-129"));
}

#[test]
fn bad_hex() {
    assert_eq!(
        error("0000 000f 003\n00 g2"),
        "bad hex at character 14 (line 1, column 14): found the end of the line, expected a second hex digit"
    );
    assert_eq!(
        error("00 00 00 0f\n00 g2"),
        "bad hex at character 16 (line 2, column 4): found \"g\", expected a hex digit"
    );
    assert!(
        error("0000000")
            .contains("character 8 (line 1, column 8): found the end of the input, expected a second hex digit")
    );
    assert!(error("00 0 00").contains("column 5): found \" \""));
    assert!(error("0000000g0000").contains("character 8"));
    assert!(error("é0").contains("character 1 "));
    assert!(error("00é").contains("character 3 (line 1, column 3): found \"é\""));
    assert!(error("hello world").contains("character 1 "));
}

#[test]
fn nothing() {
    for input in ["", " \n\t", "# only a comment", "[]", "\"\"", "\u{feff}"] {
        assert!(parse(input.as_bytes()).is_err(), "{input:?}");
    }
    assert_eq!(parse(b" \n"), Err(PasteError::Empty));
    assert_eq!(error("# only a comment"), "nothing to decode: the input holds no bytes");
}

/// What `od -c` prints may be characters or octal numbers: it says itself how to get bytes.
#[test]
fn characters_of_od() {
    for text in [
        r"0000000  \0  \0  \0 025  \0 022  \0 003  \0  \0  \0  \a  \0  \a   r   d",
        r"000000  \0  \0  \0 025  \0 022  \0 003  \0  \0  \0  \a  \0  \a   r   d",
        r"  \0  \0  \0 025  \0 022  \0 003  \0  \0  \0  \a  \0  \a   r   d",
        "0000000  00  00  00  15  00  12\n         \\0  \\0  \\0 025  \\0 022",
    ] {
        let said = error(text);
        assert!(said.contains("od -A x -t x1") && said.contains("this is `od -c`"), "{text}: {said}");
    }
}

#[test]
fn dumps_of_tools() {
    all(
        Form::Dump,
        BYTES,
        &[
            // xxd
            "00000000: 0000 0015 0012 0003 0000 0007 0007 7264  ..............rd\n00000010: 6b61 666b 6100 6162 2063 6420            kafka.ab cd \n",
            "00000000: 00 00 00 15 00 12 00 03 00 00 00 07 00 07 72 64  ..............rd\n00000010: 6b 61 66 6b 61 00 61 62 20 63 64 20              kafka.ab cd",
            "00000000: 00000015 00120003 00000007 00077264  ..............rd\n00000010: 6b61666b 61006162 20636420           kafka.ab cd ",
            // hexdump -C
            "00000000  00 00 00 15 00 12 00 03  00 00 00 07 00 07 72 64  |..............rd|\n00000010  6b 61 66 6b 61 00 61 62  20 63 64 20              |kafka.ab cd |\n0000001c\n",
            // od -t x1, od -A x -t x1z, od -b
            "0000000 00 00 00 15 00 12 00 03 00 00 00 07 00 07 72 64\n0000020 6b 61 66 6b 61 00 61 62 20 63 64 20\n0000034\n",
            // od -A x -t x1, od -A d -t x1
            "000000 00 00 00 15 00 12 00 03 00 00 00 07 00 07 72 64\n000010 6b 61 66 6b 61 00 61 62 20 63 64 20\n00001c\n",
            "0000000 00 00 00 15 00 12 00 03 00 00 00 07 00 07 72 64\n0000016 6b 61 66 6b 61 00 61 62 20 63 64 20\n0000028\n",
            "000000 00 00 00 15 00 12 00 03 00 00 00 07 00 07 72 64  >..............rd<\n000010 6b 61 66 6b 61 00 61 62 20 63 64 20              >kafka.ab cd <\n00001c",
            "0000000 000 000 000 025 000 022 000 003 000 000 000 007 000 007 162 144\n0000020 153 141 146 153 141 000 141 142 040 143 144 040\n0000034",
            "0000000    00  00  00  15  00  12  00  03  00  00  00  07  00  07  72  64\n0000020    6b  61  66  6b  61  00  61  62  20  63  64  20            \n0000034",
            // tcpdump -X and -xx
            "\t0x0000:  0000 0015 0012 0003 0000 0007 0007 7264  ..............rd\n\t0x0010:  6b61 666b 6100 6162 2063 6420            kafka.ab.cd.",
            "10:00:00.123456 IP 127.0.0.1.51522 > 127.0.0.1.9092: Flags [P.], seq 1:29, ack 1, win 512, length 28\n\t0x0000:  0000 0015 0012 0003 0000 0007 0007 7264\n\t0x0010:  6b61 666b 6100 6162 2063 6420",
            // Wireshark
            "0000   00 00 00 15 00 12 00 03 00 00 00 07 00 07 72 64   ..............rd\n0010   6b 61 66 6b 61 00 61 62 20 63 64 20               kafka.ab cd \n",
            "0000  00 00 00 15 00 12 00 03  00 00 00 07 00 07 72 64   ........ ......rd\n0010  6b 61 66 6b 61 00 61 62  20 63 64 20               kafka.ab  cd \n",
            // GDB x/28xb
            "0x4010 <d>:\t0x00\t0x00\t0x00\t0x15\t0x00\t0x12\t0x00\t0x03\n0x4018 <d+8>:\t0x00\t0x00\t0x00\t0x07\t0x00\t0x07\t0x72\t0x64\n0x4020 <d+16>:\t0x6b\t0x61\t0x66\t0x6b\t0x61\t0x00\t0x61\t0x62\n0x4028:\t0x20\t0x63\t0x64\t0x20\n",
            // Netty's ByteBufUtil.prettyHexDump
            "         +-------------------------------------------------+\n         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n+--------+-------------------------------------------------+----------------+\n|00000000| 00 00 00 15 00 12 00 03 00 00 00 07 00 07 72 64 |..............rd|\n|00000010| 6b 61 66 6b 61 00 61 62 20 63 64 20             |kafka.ab cd     |\n+--------+-------------------------------------------------+----------------+",
            // hexyl
            "┌────────┬─────────────────────────┬─────────────────────────┬────────┬────────┐\n│00000000│ 00 00 00 15 00 12 00 03 ┊ 00 00 00 07 00 07 72 64 │⋄⋄⋄•⋄•⋄•┊⋄⋄⋄•⋄•rd│\n│00000010│ 6b 61 66 6b 61 00 61 62 ┊ 20 63 64 20             │kafka⋄ab┊ cd     │\n└────────┴─────────────────────────┴─────────────────────────┴────────┴────────┘",
            // PowerShell's Format-Hex
            "           00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F\n\n00000000   00 00 00 15 00 12 00 03 00 00 00 07 00 07 72 64  ..............rd\n00000010   6B 61 66 6B 61 00 61 62 20 63 64 20              kafka.ab cd     \n",
            // decimal offsets, spaces lost in a web page, quoted in a mail
            "0000: 00 00 00 15 00 12 00 03 00 00 00 07 00 07 72 64\n0016: 6b 61 66 6b 61 00 61 62 20 63 64 20",
            "00000000: 0000 0015 0012 0003 0000 0007 0007 7264 ..............rd\n00000010: 6b61 666b 6100 6162 2063 6420 kafka.ab cd",
            "> 00000000: 0000 0015 0012 0003 0000 0007 0007 7264  ..............rd\n> 00000010: 6b61 666b 6100 6162 2063 6420            kafka.ab cd \n",
        ],
    );
    all(
        Form::WordDump,
        BYTES,
        &[
            "0000000 0000 1500 1200 0300 0000 0700 0700 6472\n0000010 616b 6b66 0061 6261 6320 2064          \n000001c\n",
            "0000000    0000    1500    1200    0300    0000    0700    0700    6472\n0000010    616b    6b66    0061    6261    6320    2064                \n000001c",
            "0000000 0000 1500 1200 0300 0000 0700 0700 6472\n0000020 616b 6b66 0061 6261 6320 2064\n0000034\n",
            "0000000 000000 012400 011000 001400 000000 003400 003400 062162\n0000020 060553 065546 000141 061141 061440 020144\n0000034",
            "0000000 15000000 03001200 07000000 64720700\n0000020 6b66616b 62610061 20646320\n0000034",
            // xxd -e
            "00000000: 15000000 03001200 07000000 64720700  ..............rd\n00000010: 6b66616b 62610061 20646320           kafka.ab cd ",
        ],
    );
}

#[test]
fn ascii_columns_that_look_like_hex() {
    let bytes = b"abcdef ab cd 00 12 34 deadbeef ab".to_vec();
    let text = "\
00000000: 6162 6364 6566 2061 6220 6364 2030 3020  abcdef ab cd 00 
00000010: 3132 2033 3420 6465 6164 6265 6566 2061  12 34 deadbeef a
00000020: 62                                       b
";
    assert_eq!(taken(text), (bytes.clone(), Form::Dump));
    let text = "\
0000   61 62 63 64 65 66 20 61 62 20 63 64 20 30 30 20   abcdef ab cd 00
0010   31 32 20 33 34 20 64 65 61 64 62 65 65 66 20 61   12 34 deadbeef a
0020   62                                                b";
    assert_eq!(taken(text), (bytes, Form::Dump));
    all(
        Form::Dump,
        b"ab cd ef",
        &["0000   61 62 20 63 64 20 65 66   ab cd ef", "00000000: 6162 2063 6420 6566  ab cd ef"],
    );
    // The offsets tell where the bytes end, even when the column is another alphabet's.
    all(Form::Dump, &[0xab, 0xcd, 0xef, 0x01], &["0000: ab cd  ef 01\n0002: ef 01  ab cd\n0004:"]);
}

#[test]
fn repeats() {
    let mut bytes = vec![0; 0x50];
    bytes.extend([1; 16]);
    all(
        Form::Dump,
        &bytes,
        &[
            "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n00000050  01 01 01 01 01 01 01 01  01 01 01 01 01 01 01 01  |................|\n00000060\n",
            "00000000: 0000 0000 0000 0000 0000 0000 0000 0000  ................\n*\n00000050: 0101 0101 0101 0101 0101 0101 0101 0101  ................\n",
            "0000000 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n*\n0000120 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01\n0000140\n",
        ],
    );
    let row = "00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n*\n";
    assert!(error(&format!("{row}ffffffff0  01")).contains("not more than 64 MiB"));
    assert!(error(row).contains("where the repeat (*) ends"));
    assert!(error(&format!("{row}00000018  01")).contains("multiple of 16"));
    assert!(error("0000000 0000 0000 0000 0000 0000 0000 0000 0000\n*\n0000100 0001\n0000102").contains("base"));
}

#[test]
fn odd_word_at_the_end() {
    all(Form::WordDump, &[0, 0, 0x0f], &["0000000 0000 000f\n0000003\n"]);
}

#[test]
fn bad_dumps() {
    let first = "00000000: 0000 000f 003c 0002 0000 0007 0005 6162  .....<........ab\n";
    assert_eq!(
        error(&format!("{first}00000020: 2063 64  cd")),
        "bad dump at character 69 (line 2, column 1): found \"00000020\", expected offset 00000010, because the line before shows 16 bytes"
    );
    assert!(error(&format!("{first}00000000: 2063 64  cd")).contains("a second dump seems to begin here"));
    assert!(error(&format!("{first}hello")).contains("expected an offset"));
    assert!(error("00000000: 00 0 00").contains("column 14): found \"0\", expected two hex digits"));
    assert!(error("00000000: 00 0g 00 00").contains("column 14)"));
    assert!(error("0x4010 <d>:\t0x0f000000\t0x02003c00").contains("x/…xb"));
    assert!(error("00000000 0000 0f00 3c00 0200 0000 0700 0500 6261\n00000010 6320 0064").contains("cannot be told"));
}

#[test]
fn base64_texts() {
    use ::base64::{Engine, prelude::*};
    let bytes: Vec<u8> = (0..=255).collect();
    let standard = BASE64_STANDARD.encode(&bytes);
    let wrapped =
        standard.as_bytes().chunks(76).map(|line| std::str::from_utf8(line).unwrap()).collect::<Vec<_>>().join("\n");
    all(
        Form::Base64,
        &bytes,
        &[
            &standard,
            &wrapped,
            &BASE64_URL_SAFE.encode(&bytes),
            &BASE64_URL_SAFE_NO_PAD.encode(&bytes),
            &format!("\"{standard}\""),
            &format!("b'{standard}'\n"),
        ],
    );
    // RFC 4648, section 10
    all(Form::Base64, b"foobar", &["Zm9vYmFy"]);
    all(Form::Base64, b"fooba", &["Zm9vYmE="]);
    all(Form::Base64, SHORT, &["AAAADwA8AAI=", "AAAADwA8AAI"]);
    all(Form::Hex, &[0xAA; 4], &["AAAAAAAA"]);
    assert!(error("Zm9vYm!yZm9vYmFyZm9v").starts_with("bad base64 at character 7 (line 1, column 7): found \"!\""));
    assert!(error("Zm9vYmFyZ").contains("is the end missing?"));
}

#[test]
fn raw_bytes() {
    for bytes in [BYTES, b"\xff\xfe\x00", b"abc\x01", b"\x80"] {
        assert_eq!(parse(bytes), Ok(Pasted { bytes: bytes.to_vec(), form: Form::Raw }));
    }
    let utf16: Vec<u8> = "\u{feff}00 0f".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(parse(&utf16), Ok(Pasted { bytes: vec![0, 15], form: Form::Hex }));
    all(Form::Hex, &[0, 15], &["\x1b[1;31m00\x1b[0m 0f"]);
}

/// What is kept while looking for brackets and rows is bounded: so many would take gigabytes.
#[test]
fn much_input() {
    assert!(error(&"(".repeat(1 << 20)).starts_with("bad hex at character 1 "));
    assert!(
        error(&format!("[{}", "{1, 2}".repeat(1 << 17)))
            .contains("character 8 (line 1, column 8): found \"{\", expected one array only")
    );
    assert_eq!(taken(&format!("{}[1, 2, 200, 4]", "{".repeat(100))).1, Form::DecimalArray);
    assert!(error(&format!("0000: {}", "00 ".repeat((1 << 20) + 1))).contains("the end of the line"));
}

/// Long input of one kind must not take more than linear time: these would take minutes otherwise.
#[test]
fn long_input() {
    for piece in [
        "00",
        "00 ",
        "20  ",
        "33  33  20  20  ",
        "[",
        "[0 ",
        "{(<",
        "\"",
        "'",
        "\\",
        "\\x00",
        "\"\\x00\" ",
        "/*",
        "; ",
        ";0",
        "0 ",
        "0000: 00\n",
        "A=",
        "\x1b[",
        "| ",
        "a:",
        "=",
        "-",
        "0x",
        "\n",
        "*\n",
        "0000000 00\n",
        "0<a: ",
        "00: ",
        "zz ",
        "\\ ",
        "\"\\\" ",
        "10:00:00.1 ",
        "[2026-11-29 ",
        "0000  ",
        "│",
        "..  ",
    ] {
        let input = piece.repeat(20_000 / piece.len());
        let _ = parse(input.as_bytes());
        let _ = parse(format!("0000: {input}").as_bytes());
        let _ = parse(format!("[2026-11-29] sent: {input}").as_bytes());
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn nothing_panics(input in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
        let _ = parse(&input);
    }

    #[test]
    fn no_text_panics(input in r#"([0-9a-f]{1,8}|0x|[ \t\n:,;*|>'"\\\[\]{}()<#/=+-]|é|│|┊|\.\.|\\x|[g-zG-Z]{1,3}|00 ){0,40}"#) {
        let _ = parse(input.as_bytes());
    }

    #[test]
    fn every_form_gives_the_bytes_back(bytes in proptest::collection::vec(proptest::num::u8::ANY, 2..200)) {
        // As frames do; text alone (`b"A0"`) is rather hex or base64 in quotes.
        let bytes = [vec![0], bytes].concat();
        let hex = each(&bytes, |b| format!("{b:02x}"));
        let spaced = each(&bytes, |b| format!("{b:02X} "));
        let string = bytes.escape_ascii();
        let ascii = |row: &[u8]| row.iter().map(|b| if (b' '..=b'~').contains(b) { char::from(*b) } else { '.' }).collect::<String>();
        let rows = |line: fn(usize, &str, &str) -> String| -> String {
            let row = |(index, row): (usize, &[u8])| {
                let hex = each(row, |b| format!("{b:02x} "));
                line(index * 16, &hex, &ascii(row))
            };
            bytes.chunks(16).enumerate().map(row).collect()
        };
        let forms = [
            hex,
            spaced,
            format!("b\"{string}\""),
            format!("{{{}}}", each(&bytes, |b| format!("0x{b:02x}, "))),
            format!("[{}]", bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")),
            format!("[-100, {}]", bytes.iter().map(|b| b.cast_signed().to_string()).collect::<Vec<_>>().join(", ")),
            rows(|offset, hex, ascii| format!("{offset:08x}: {hex:<49} {ascii}\n")),
            rows(|offset, hex, ascii| format!("{offset:04x}   {hex:<50} {ascii}\n")),
            rows(|offset, hex, ascii| format!("{offset:08x}  {hex:<49} |{ascii}|\n")),
            rows(|offset, hex, _| format!("{offset:07o} {hex}\n")),
        ];
        for form in forms {
            let mut pasted = parse(form.as_bytes()).map_err(|error| proptest::test_runner::TestCaseError::fail(format!("{error}\n{form}")))?.bytes;
            if form.starts_with("[-100, ") {
                pasted.remove(0);
            }
            proptest::prop_assert_eq!(&pasted, &bytes, "{}", form);
        }
    }
}
