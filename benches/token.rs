//! The time to verify a token: `cargo bench --bench token`.
//!
//! `verify_api/seen` is the work of an emit, `verify_api/unseen` and `verify_user` together are the work of a
//! handshake. `stock decode` is the time of jsonwebtoken for the same user token, with its key prepared each time.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use carillon::auth::{Authenticator, Scope, issue_api, issue_user};
use carillon::catalogue::{Catalogue, EmbeddedCatalogue, KeyMaterial, KeyUse, Project, ProjectName};
use criterion::{Criterion, criterion_group, criterion_main};
use jsonwebtoken::{DecodingKey, Validation};
use tokio::runtime::Builder;

const DAY: Duration = Duration::from_secs(86_400);
/// Ten times the size of the authenticator's cache, so that every lookup misses.
const UNSEEN_TOKENS: usize = 40_960;

fn verify(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().build().expect("a runtime without drivers needs nothing");
    let folder = tempfile::tempdir().expect("the benchmark needs a folder");
    let catalogue = Arc::new(EmbeddedCatalogue::open(folder.path()).expect("the folder is empty"));
    let demo = runtime.block_on(async {
        catalogue.ensure_demo().await?;
        catalogue.project(&ProjectName::demo()).await
    });
    let demo = demo.ok().flatten().expect("the demo project exists");
    let authenticator = Authenticator::new(catalogue, 5, 3_600);
    let user = issue_user(&demo, "u42", DAY, &[]).expect("the demo project has keys");
    let apis: Vec<_> = (0..UNSEEN_TOKENS).map(|number| api_token(&demo, number)).collect();

    criterion.bench_function("verify_api/seen", |bencher| {
        bencher.iter(|| runtime.block_on(authenticator.verify_api(black_box(&apis[0]))));
    });
    let mut tokens = apis.iter().cycle();
    criterion.bench_function("verify_api/unseen", |bencher| {
        bencher.iter(|| runtime.block_on(authenticator.verify_api(tokens.next().expect("an endless iterator"))));
    });
    criterion.bench_function("verify_user", |bencher| {
        bencher.iter(|| runtime.block_on(authenticator.verify_user(black_box(&user), &demo.name)));
    });
    criterion.bench_function("stock decode", |bencher| {
        bencher.iter(|| stock_decode(&demo, black_box(&user)));
    });
}

fn api_token(demo: &Project, number: usize) -> String {
    let scopes = [Scope::Connect, Scope::Emit].into_iter().collect();
    issue_api(demo, &format!("shop-{number}"), scopes, Some(DAY)).expect("the demo project has keys")
}

fn stock_decode(demo: &Project, token: &str) -> serde_json::Value {
    let key = demo.keys.iter().find(|key| key.key_use == KeyUse::User);
    let Some(KeyMaterial::Secret(secret)) = key.map(|key| &key.material) else {
        panic!("the keys of the demo project are secrets");
    };
    let key = DecodingKey::from_secret(secret).expect("the secret is not empty");
    jsonwebtoken::decode(token, &key, &Validation::default()).expect("a valid token").claims
}

criterion_group!(benches, verify);
criterion_main!(benches);
