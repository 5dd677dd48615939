//! `carillon migrate`: brings the catalogue's database to what this version expects, as the start of a node does too.

use std::path::Path;

use super::{Failure, answer, run_to_end};
use crate::catalogue::{CatalogueError, MongoCatalogue};
use crate::settings::{CatalogueKind, Loaded, Settings};

pub(super) fn migrate(file: Option<&Path>) -> Result<(), Failure> {
    let settings = Loaded::from_process(file)?.settings;
    answer(match settings.catalogue.kind {
        CatalogueKind::Embedded => {
            "nothing to do: the embedded catalogue makes its tables when it is opened\n".to_owned()
        }
        CatalogueKind::Mongodb => told(&run_to_end(migrate_database(&settings))??),
    })
}

async fn migrate_database(settings: &Settings) -> Result<Vec<&'static str>, CatalogueError> {
    let mongodb = &settings.catalogue.mongodb;
    MongoCatalogue::connect(&mongodb.uri, &mongodb.database).await?.migrate().await
}

fn told(applied: &[&str]) -> String {
    match applied {
        [] => "nothing to do: every migration is applied\n".to_owned(),
        applied => applied.iter().map(|name| format!("applied {name}\n")).collect(),
    }
}
