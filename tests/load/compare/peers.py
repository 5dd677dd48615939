"""The servers that are compared: how each is installed, started and spoken to, and what it does not do in the test.

Each is a server of its own kind, set up as its documentation advises, on two workers where it can have several. Standard
library only.
"""

import os
import pathlib
import shutil
import subprocess
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# Everything that is built or installed here; not part of the project.
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "compare"
SOCKUDO_VERSION = "5.2.0"
# The application that the load tool's pusher dialect knows.
APPLICATION = {"ID": "load", "KEY": "load-key", "SECRET": "load-secret"}
MANY = "100000000"
BEFORE_REDIS = "a node tells its own clients before Redis has the event, so that nodes may differ in order"


class Unavailable(Exception):
    """Why a peer can't be had on this machine."""


@dataclass
class Start:
    """How a server is started."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    folder: pathlib.Path | None = None


def run(command: list[str], **options: object) -> None:
    try:
        subprocess.run(command, check=True, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"{' '.join(command[:3])}: {error}") from error


def need_package(program: str, *packages: str) -> None:
    """Installs Debian's packages unless the program, or the file, is there."""
    if shutil.which(program) or pathlib.Path(program).exists():
        return
    run(["apt-get", "update"])
    run(["apt-get", "install", "--yes", "--no-install-recommends", *packages], env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})


class Peer:
    """A server: `install` once, `start` for each measurement."""

    name = ""
    protocol = ""
    # What it does not do in the test, that Carillon does.
    without = ""
    # Further, where it has a Redis.
    without_on_redis = ""
    # How long its nodes take to know of each other, in seconds.
    seconds_to_meet = 0.0

    def __init__(self, has_redis: bool):
        self.has_redis = has_redis

    @property
    def label(self) -> str:
        return self.name + (" + Redis" if self.has_redis else "")

    @property
    def note(self) -> str:
        return "; ".join(part for part in (self.without, self.has_redis and self.without_on_redis) if part)

    def install(self) -> None:
        """Makes the server available, or raises Unavailable."""

    @staticmethod
    def program() -> pathlib.Path | str:
        """What is run: a file, or a name on the path."""
        raise NotImplementedError

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        raise NotImplementedError

    def ready_request(self) -> tuple[str, str] | None:
        """A method and a path that are answered with success once the server is ready; none: when it listens."""
        return None


class Carillon(Peer):
    name, protocol = "Carillon", "carillon"

    def install(self) -> None:
        if not self.program().exists():
            run(["cargo", "build", "--release", "--locked"], cwd=ROOT)

    @staticmethod
    def program() -> pathlib.Path | str:
        return pathlib.Path(os.environ.get("CARILLON_BIN", ROOT / "target" / "release" / "carillon"))

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        environment = {"CARILLON__HTTP__BIND": f"127.0.0.1:{port}", "CARILLON__DATA__DIR": str(folder)}
        if self.has_redis:
            environment |= {"CARILLON__BUS__KIND": "redis", "CARILLON__BUS__REDIS__URL": f"redis://127.0.0.1:{redis_port}"}
        return Start([str(self.program())], environment)

    def ready_request(self) -> tuple[str, str] | None:
        return "GET", "/readyz"


class Stock(Peer):
    name, protocol = "stock actix-web-actors", "stock"
    without = "no token, no condition, no bus: a name for each audience, in one process"

    def install(self) -> None:
        run(["cargo", "build", "--release", "--locked", "--target-dir", str(BUILT / "stock")], cwd=HERE / "stock")

    @staticmethod
    def program() -> pathlib.Path | str:
        return BUILT / "stock" / "release" / "stock"

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        return Start([str(self.program()), f"127.0.0.1:{port}"])


class Nchan(Peer):
    name, protocol = "Nchan", "nchan"
    without = "no token, no condition: a channel for each audience, named in the address; a buffer of 10 messages"
    module = "/usr/lib/nginx/modules/ngx_nchan_module.so"

    def install(self) -> None:
        need_package(self.module, "libnginx-mod-nchan", "nginx-light")
        need_package("nginx", "nginx-light")

    @staticmethod
    def program() -> pathlib.Path | str:
        return "nginx"

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        upstream = f"upstream redis {{ nchan_redis_server redis://127.0.0.1:{redis_port}; }}" if self.has_redis else ""
        redis = "nchan_redis_pass redis;" if self.has_redis else ""
        (folder / "nginx.conf").write_text(f"""
load_module {self.module};
user root;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log crit;
worker_processes 2;
worker_rlimit_nofile 20000;
events {{ worker_connections 19000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    keepalive_requests 1000000000;
    nchan_max_reserved_memory 512M;
    {upstream}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location ~ ^/sub/(.+)$ {{
            nchan_subscriber websocket;
            nchan_channel_id $1;
            nchan_subscriber_first_message newest;
            nchan_message_buffer_length 10;
            {redis}
        }}
        location ~ ^/pub/(.+)$ {{
            nchan_publisher http;
            nchan_channel_id $1;
            nchan_message_buffer_length 10;
            {redis}
        }}
    }}
}}
""")
        return Start([self.program(), "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", str(folder / "error.log")])

    def ready_request(self) -> tuple[str, str] | None:
        # It listens before it has found its Redis, and answers 503 until then.
        return "POST", "/pub/ready"


class Sockudo(Peer):
    name, protocol = "Sockudo", "pusher"
    without = "no user token, no condition: a public channel for each audience; it ends the connection after each publish"
    without_on_redis = BEFORE_REDIS
    # A heartbeat every ten seconds; alone, a node publishes nothing.
    seconds_to_meet = 12.0

    def install(self) -> None:
        if self.program().exists():
            return
        need_package("protoc", "protobuf-compiler")
        need_package("/usr/include/google/protobuf/timestamp.proto", "libprotobuf-dev")
        features = ["--no-default-features", "--features", "local,redis", "--locked"]
        target = ["--root", str(BUILT / "sockudo"), "--target-dir", str(BUILT / "sockudo-build")]
        run(["cargo", "install", "sockudo", "--version", SOCKUDO_VERSION, *features, *target])

    @staticmethod
    def program() -> pathlib.Path | str:
        return BUILT / "sockudo" / "bin" / "sockudo"

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        driver = "redis" if self.has_redis else "local"
        environment = {f"SOCKUDO_DEFAULT_APP_{name}": value for name, value in APPLICATION.items()}
        environment |= {f"SOCKUDO_DEFAULT_APP_{name}": MANY for name in ("MAX_CONNECTIONS", "MAX_BACKEND_EVENTS_PER_SECOND")}
        environment |= {
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "ADAPTER_DRIVER": driver,
            # Its Redis adapter works with the Redis cache only.
            "CACHE_DRIVER": "redis" if self.has_redis else "memory",
            "QUEUE_DRIVER": "memory",
            "SOCKUDO_DEFAULT_APP_ENABLED": "true",
            "RATE_LIMITER_ENABLED": "false",
            "METRICS_ENABLED": "false",
            "SOCKUDO_MAX_CONNECTIONS": MANY,
            "DATABASE_REDIS_HOST": "127.0.0.1",
            "DATABASE_REDIS_PORT": str(redis_port),
            "REDIS_URL": f"redis://127.0.0.1:{redis_port}",
            "RUST_LOG": "error",
        }
        return Start([str(self.program())], environment, folder)


class SocketIo(Peer):
    name, protocol = "Socket.IO", "socket-io"
    without = "no token, no condition: a room for each audience, in one Node process"
    without_on_redis = BEFORE_REDIS

    def install(self) -> None:
        need_package("node", "nodejs", "npm")
        run(["npm", "ci", "--no-audit", "--no-fund"], cwd=HERE / "socketio")

    @staticmethod
    def program() -> pathlib.Path | str:
        return "node"

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        redis = [f"redis://127.0.0.1:{redis_port}"] if self.has_redis else []
        return Start([self.program(), str(HERE / "socketio" / "server.mjs"), str(port), *redis], {"NODE_ENV": "production"})


class Nats(Peer):
    name, protocol = "NATS", "nats"
    without = "no token, no condition, no HTTP: a subject for each audience, published by WebSocket; a bus, here as a stand-in"

    def install(self) -> None:
        need_package("nats-server", "nats-server")

    @staticmethod
    def program() -> pathlib.Path | str:
        return "nats-server"

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        (folder / "nats.conf").write_text(f"""
listen: "127.0.0.1:-1"
websocket {{ listen: "127.0.0.1:{port}", no_tls: true, compression: false }}
""")
        return Start([self.program(), "-c", str(folder / "nats.conf")], {"GOMAXPROCS": "2"})


def all_peers() -> list[Peer]:
    """Each with and without Redis, where it can."""
    both = (Carillon, Nchan, Sockudo, SocketIo)
    alone = (Carillon, Stock, Nchan, Sockudo, SocketIo, Nats)
    return [peer(False) for peer in alone] + [peer(True) for peer in both]
