//! The stock server: actix-web with actix-web-actors as its documentation shows it, with one actor per client. No
//! tokens, no conditions, one process. The first message of a client names its room, and `POST /emit/NAME` delivers to
//! the room. Allocator and build options are those of the node, so that only the design differs.
//!
//!     stock ADDRESS

use actix::prelude::*;
use actix_web::web::{Bytes, Data, Path, Payload, get, post};
use actix_web::{App, Error, HttpRequest, HttpResponse, HttpServer};
use actix_web_actors::ws;
use bytestring::ByteString;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The sessions of each room.
#[derive(Default)]
struct Rooms(RwLock<HashMap<String, Vec<Addr<Session>>>>);

impl Rooms {
    fn join(&self, name: &str, session: Addr<Session>) {
        let mut rooms = self.0.write().unwrap_or_else(PoisonError::into_inner);
        rooms.entry(name.to_owned()).or_default().push(session);
    }

    fn leave(&self, name: &str, session: &Addr<Session>) {
        let mut rooms = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(sessions) = rooms.get_mut(name) {
            sessions.retain(|other| other != session);
            if sessions.is_empty() {
                rooms.remove(name);
            }
        }
    }

    fn deliver(&self, name: &str, text: &ByteString) {
        let rooms = self.0.read().unwrap_or_else(PoisonError::into_inner);
        rooms.get(name).into_iter().flatten().for_each(|session| session.do_send(Deliver(text.clone())));
    }
}

/// One client.
struct Session {
    rooms: Data<Rooms>,
    name: Option<String>,
}

/// A message to deliver to a client.
#[derive(Message)]
#[rtype(result = "()")]
struct Deliver(ByteString);

impl Actor for Session {
    type Context = ws::WebsocketContext<Self>;

    fn stopped(&mut self, context: &mut Self::Context) {
        if let Some(name) = &self.name {
            self.rooms.leave(name, &context.address());
        }
    }
}

impl Handler<Deliver> for Session {
    type Result = ();

    fn handle(&mut self, Deliver(text): Deliver, context: &mut Self::Context) {
        context.text(text);
    }
}

impl StreamHandler<Result<ws::Message, ws::ProtocolError>> for Session {
    fn handle(&mut self, message: Result<ws::Message, ws::ProtocolError>, context: &mut Self::Context) {
        match message {
            Ok(ws::Message::Text(name)) if self.name.is_none() => {
                self.rooms.join(&name, context.address());
                self.name = Some(name.to_string());
                context.text("ok");
            }
            Ok(ws::Message::Ping(payload)) => context.pong(&payload),
            Ok(ws::Message::Close(reason)) => {
                context.close(reason);
                context.stop();
            }
            Ok(_) => {}
            Err(_) => context.stop(),
        }
    }
}

async fn connect(request: HttpRequest, body: Payload, rooms: Data<Rooms>) -> Result<HttpResponse, Error> {
    ws::start(Session { rooms, name: None }, &request, body)
}

async fn emit(name: Path<String>, body: Bytes, rooms: Data<Rooms>) -> HttpResponse {
    match ByteString::try_from(body) {
        Ok(text) => {
            rooms.deliver(&name, &text);
            HttpResponse::Ok().finish()
        }
        Err(_) => HttpResponse::BadRequest().finish(),
    }
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".into());
    let rooms = Data::new(Rooms::default());
    HttpServer::new(move || {
        App::new().app_data(rooms.clone()).route("/ws", get().to(connect)).route("/emit/{name}", post().to(emit))
    })
    .backlog(4096)
    .bind(address)?
    .run()
    .await
}
