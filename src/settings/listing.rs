//! Lists settings: as values by their keys, and as TOML with the source of each.

use super::{Loaded, Settings};
use std::collections::BTreeMap;

impl Settings {
    /// The keys (`section.key`) whose values differ in `other`.
    pub fn changed_keys(&self, other: &Settings) -> Vec<String> {
        let (ours, theirs) = (self.values_with_secrets(), other.values_with_secrets());
        ours.into_iter().filter(|(key, value)| theirs.get(key) != Some(value)).map(|(key, _)| key).collect()
    }

    /// Every value by its `section.key`. Passwords are hidden.
    pub fn values(&self) -> BTreeMap<String, toml::Value> {
        let mut values = BTreeMap::new();
        let sections = toml::Table::try_from(self).expect("settings are tables of plain values");
        let mut tables = vec![(String::new(), sections)];
        while let Some((prefix, table)) = tables.pop() {
            for (key, value) in table {
                let key = format!("{prefix}{key}");
                match value {
                    toml::Value::Table(nested) => tables.push((format!("{key}."), nested)),
                    value => drop(values.insert(key, value)),
                }
            }
        }
        values
    }

    /// Every value by its `section.key`, including passwords. They are for comparisons and must never be shown.
    fn values_with_secrets(&self) -> BTreeMap<String, toml::Value> {
        let secrets = [
            ("catalogue.mongodb.uri", self.catalogue.mongodb.uri.expose()),
            ("bus.redis.url", self.bus.redis.url.expose()),
        ];
        let mut values = self.values();
        values.extend(secrets.map(|(key, secret)| (key.to_owned(), toml::Value::from(secret))));
        values
    }
}

impl Loaded {
    /// Every key with its value and, as a comment, its source. The result is an equivalent settings file, except that
    /// passwords are hidden.
    pub fn to_toml(&self) -> String {
        let sections = toml::Table::try_from(&self.settings).expect("settings are tables of plain values");
        let mut text = String::new();
        self.write_sections("", &sections, &mut text);
        text
    }

    /// Writes `sections`, whose names begin with `parent`, and the sections nested in them.
    fn write_sections(&self, parent: &str, sections: &toml::Table, text: &mut String) {
        for (section, keys) in sections {
            let Some(keys) = keys.as_table() else { continue };
            let section = format!("{parent}{section}");
            text.push_str(&format!("[{section}]\n"));
            for (key, value) in keys.iter().filter(|(_, value)| !value.is_table()) {
                let source = self.source(&format!("{section}.{key}"));
                text.push_str(&format!("{key} = {value}  # {source}\n"));
            }
            text.push('\n');
            self.write_sections(&format!("{section}."), keys, text);
        }
    }
}
