use super::*;

/// Kafka 3.5 swapped two states of `ZkMigrationState`, so that what 3.4 wrote stays a state of its own.
#[test]
fn states_of_the_migration_from_zookeeper() {
    let catalog = Catalog::builtin();
    let names = catalog.enumerations().named("ZkMigrationState").unwrap();
    let names: Vec<_> = (0..5).map(|code| names.code(code).unwrap().name.as_str()).collect();
    assert_eq!(names, ["NONE", "MIGRATION", "PRE_MIGRATION", "POST_MIGRATION", "ZK"]);
}

#[test]
fn every_embedded_message_has_a_plan_for_every_version() {
    let catalog = Catalog::builtin();
    let (mut messages, mut requests) = (0, 0);
    for name in catalog.names() {
        let schema = catalog.schema(name).unwrap_or_else(|| panic!("{name} cannot be read"));
        assert_eq!(&*schema.name, name);
        let row = catalog.releases().row(name).unwrap_or_else(|| panic!("{name} is not in versions.tsv"));
        assert_eq!((row.kind, row.api_key, row.all), (schema.kind, schema.api_key, schema.valid), "{name}");
        for version in schema.valid.first..=schema.valid.last {
            assert_eq!(catalog.plan(name, version).map(|plan| plan.version), Some(version));
            requests += i32::from(schema.kind == Kind::Request);
        }
        messages += 1;
    }
    assert_eq!((messages, requests, catalog.apis().len()), (294, 368, 95));
}
