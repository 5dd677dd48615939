//! `carillon migrate`: upgrades the catalogue's database to this version, as the start of a node does too.

use std::path::Path;

use serde_json::json;

use super::output::{Answer, Format};
use super::{Failure, block_on};
use crate::catalogue::{CatalogueError, MongoCatalogue};
use crate::settings::{CatalogueKind, Loaded, Settings};

pub(super) fn migrate(file: Option<&Path>, format: Format) -> Result<(), Failure> {
    let settings = Loaded::from_process(file)?.settings;
    let answer = match settings.catalogue.kind {
        CatalogueKind::Embedded => {
            let text = "nothing to do: the embedded catalogue creates its tables when it is opened\n";
            Answer::new(text, json!({"applied": []}))
        }
        CatalogueKind::Mongodb => answer(&block_on(migrate_database(&settings))??),
    };
    answer.print(format)
}

async fn migrate_database(settings: &Settings) -> Result<Vec<&'static str>, CatalogueError> {
    let mongodb = &settings.catalogue.mongodb;
    MongoCatalogue::connect(&mongodb.uri, &mongodb.database).await?.migrate().await
}

fn answer(applied: &[&str]) -> Answer {
    let text = match applied {
        [] => "nothing to do: every migration is applied\n".to_owned(),
        applied => applied.iter().map(|name| format!("applied {name}\n")).collect(),
    };
    Answer::new(text, json!({"applied": applied}))
}
