use super::super::action::Action;
use super::*;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse("config.toml", text).map_err(|error| error.to_string())
}

#[test]
fn what_is_not_set_is_as_usual() {
    for text in ["", "# nothing\n", "[keys]\n[screen]\n"] {
        let config = parse(text).unwrap();
        assert_eq!(config.keymap.keys_of(Action::Quit), ["q"]);
        assert_eq!((config.ground, config.depth, config.arrangement), (None, None, None));
        assert_eq!((config.time, config.hex_width), (TimeFormat::Relative, HexWidth::Fitting));
        assert_eq!((config.detail, config.mouse), (false, true));
        assert_eq!(config.columns, Shown::default());
    }
}

#[test]
fn all_can_be_set() {
    let config = parse(
        r#"
        [keys]
        quit = "x"
        down = ["n", "ctrl-n"]
        search-next = "g n"
        suspend = []

        [screen]
        theme = "light"
        colours = "256"
        time = "delta"
        layout = "stacked"
        hex-width = 32
        detail = true
        mouse = false
        columns = ["number", "api", "latency"]
        "#,
    )
    .unwrap();
    assert_eq!(config.keymap.keys_of(Action::Quit), ["x"]);
    assert_eq!(config.keymap.keys_of(Action::Move(super::super::action::Motion::Down)), ["n", "ctrl-n"]);
    assert_eq!(config.keymap.keys_of(Action::SearchNext), ["gn"]);
    assert!(config.keymap.keys_of(Action::Suspend).is_empty());
    assert_eq!(config.ground, Some(Ground::Light));
    assert_eq!(config.depth, Some(Depth::Palette));
    assert_eq!(config.time, TimeFormat::Delta);
    assert_eq!(config.arrangement, Some(Arrangement::Stacked));
    assert_eq!(config.hex_width, HexWidth::Fixed(32));
    assert_eq!((config.detail, config.mouse), (true, false));
    assert_eq!(config.columns, Shown(vec![Column::Number, Column::Api, Column::Latency]));
    // With and without quotes.
    assert_eq!(parse("[screen]\ncolours = true\nhex-width = \"8\"").unwrap().depth, Some(Depth::True));
}

#[test]
fn errors_say_where_and_what_would_be_right() {
    for (text, expected) in [
        (
            "[screen]\nthem = \"dark\"",
            "config.toml:2: no setting of the screen is called \"them\"; did you mean theme?",
        ),
        ("\n[sreen]\n", "config.toml:2: no section is called \"sreen\"; did you mean screen?"),
        ("screen = 1", "config.toml:1: screen is a section: write [screen]"),
        ("[screen]\n\n\ntheme = \"blue\"", "config.toml:4: theme is \"auto\", \"dark\" or \"light\", not \"blue\""),
        ("[screen]\nmouse = 1", "config.toml:2: mouse is \"true\" or \"false\", not \"1\""),
        ("[screen]\ntime = [1]", "config.toml:2: time is \"relative\", \"delta\" or \"absolute\""),
        (
            "[screen]\ncolumns = [\n  \"api\",\n  \"tme\",\n]",
            "config.toml:4: no column is called \"tme\"; did you mean time?",
        ),
        ("[screen]\ncolumns = \"api\"", "config.toml:2: columns takes texts in quotes: [\"…\", \"…\"]"),
        ("[keys]\nquitt = \"x\"", "config.toml:2: no action is called \"quitt\"; did you mean quit?"),
        (
            "[keys]\nquit = \"hyper-x\"",
            "config.toml:2: \"hyper-x\", for quit, is no key; keys are written as \"x\", \"X\", \"ctrl-x\", \"f5\", \"g g\"",
        ),
        (
            "[keys]\nzoom = \"z\"\nquit = \"j\"",
            "config.toml:3: \"j\" is bound twice, to down and to quit; give one of them another key",
        ),
        (
            "[keys]\nquit = \"g\"",
            "config.toml:2: \"g\", for quit, begins \"gg\", for first; give one of them another key",
        ),
        ("[keys]\nquit = []\ncancel = []", "config.toml:3: no key is left to quit with; give one to quit or to cancel"),
        ("[keys]\nquit = 1", "config.toml:2: quit takes texts in quotes: [\"…\", \"…\"]"),
    ] {
        assert_eq!(parse(text).map(|_| ()).unwrap_err(), expected, "{text}");
    }
    // ctrl-c quits when there is nothing to stop.
    assert!(parse("[keys]\nquit = []").is_ok() && parse("[keys]\ncancel = []").is_ok());
    let broken = parse("[screen]\ntheme = dark\n").map(|_| ()).unwrap_err();
    assert!(broken.starts_with("config.toml:2: "), "{broken}");
    let twice = parse("[screen]\nmouse = true\nmouse = true\n").map(|_| ()).unwrap_err();
    assert!(twice.starts_with("config.toml:3: "), "{twice}");
}

#[test]
fn the_file_is_where_such_files_are() {
    let path = |set: &'static [(&'static str, &'static str)]| {
        usual_path(move |name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value)))
    };
    if cfg!(windows) {
        return;
    }
    let file = |path: &str| Some(PathBuf::from(path));
    assert_eq!(path(&[("HOME", "/home/me")]), file("/home/me/.config/kafkascope/config.toml"));
    assert_eq!(path(&[("HOME", "/home/me"), ("XDG_CONFIG_HOME", "/x")]), file("/x/kafkascope/config.toml"));
    assert_eq!(path(&[("HOME", "/home/me"), ("XDG_CONFIG_HOME", "x")]), path(&[("HOME", "/home/me")]));
    assert_eq!(path(&[]), None);
}

#[test]
fn a_file_that_is_given_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kafkascope").join("config.toml");
    let home = folder.path().as_os_str().to_owned();
    let variable = |name: &str| matches!(name, "XDG_CONFIG_HOME" | "APPDATA").then(|| home.clone());
    assert!(Config::load(None, variable).is_ok());
    let error = Config::load(Some(&file), variable).unwrap_err().to_string();
    assert!(error.starts_with("cannot read the configuration ") && error.ends_with("config.toml"), "{error}");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, "[screen]\nmouse = false\n").unwrap();
    assert!(!Config::load(None, variable).unwrap().mouse);
    assert!(!Config::load(Some(&file), |_| None).unwrap().mouse);
    assert!(Config::load(Some(Path::new("")), |_| None).unwrap().mouse, "an empty name is none");
}

/// What the document shows as an example is right, and shows all settings.
#[test]
fn the_example_of_the_document_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screen.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    parse(example).unwrap();
    for setting in SCREEN {
        assert!(example.contains(&format!("\n{setting} = ")), "{setting}");
    }
    for (column, _) in Column::ALL {
        assert!(text.contains(&format!("`{column}`")), "{column}");
    }
}
