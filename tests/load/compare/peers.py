"""The compared servers: how each is installed and started, its protocol, and what it does not do in the test.

Each is configured as its documentation advises, with two workers if it supports several. Standard library only.
"""

import os
import pathlib
import shutil
import subprocess
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# The folder of everything that is built or installed for the comparison.
BUILT = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "compare"
SOCKUDO_VERSION = "5.2.0"
# The application that the load tool uses (src/protocols/pusher.rs).
APPLICATION = {"ID": "load", "KEY": "load-key", "SECRET": "load-secret"}
MANY = "100000000"
BEFORE_REDIS = "a node delivers to its own clients before Redis has the event, so nodes can differ in order"


class Unavailable(Exception):
    """Why a server is not available on this machine."""


@dataclass
class Start:
    """The command that starts a server, its environment and its working folder."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    folder: pathlib.Path | None = None


def run(command: list[str], **options: object) -> None:
    try:
        subprocess.run(command, check=True, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unavailable(f"{' '.join(command[:3])}: {error}") from error


def need_package(program: str, *packages: str) -> None:
    """Installs Debian packages unless the program or the file exists."""
    if shutil.which(program) or pathlib.Path(program).exists():
        return
    run(["apt-get", "update"])
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "install", "--yes", "--no-install-recommends", *packages], env=environment)


class Peer:
    """A server: `install` runs once, `start` for each measurement."""

    name = ""
    protocol = ""
    # What Carillon does in the test and this server does not.
    without = ""
    # The same, only with Redis.
    without_on_redis = ""
    # Seconds until its nodes know of each other.
    join_seconds = 0.0

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
        """The program: a file, or a name on the PATH."""
        raise NotImplementedError

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        raise NotImplementedError

    def ready_request(self) -> tuple[str, str] | None:
        """Method and path of a request that succeeds once the server is ready. None: it is ready when it listens."""
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
            environment["CARILLON__BUS__KIND"] = "redis"
            environment["CARILLON__BUS__REDIS__URL"] = f"redis://127.0.0.1:{redis_port}"
        return Start([str(self.program())], environment)

    def ready_request(self) -> tuple[str, str] | None:
        return "GET", "/readyz"


class Stock(Peer):
    name, protocol = "stock actix-web-actors", "stock"
    without = "no tokens, no conditions, no bus: one name per audience, one process"

    def install(self) -> None:
        run(["cargo", "build", "--release", "--locked", "--target-dir", str(BUILT / "stock")], cwd=HERE / "stock")

    @staticmethod
    def program() -> pathlib.Path | str:
        return BUILT / "stock" / "release" / "stock"

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        return Start([str(self.program()), f"127.0.0.1:{port}"])


class Nchan(Peer):
    name, protocol = "Nchan", "nchan"
    without = "no tokens, no conditions: one channel per audience, named in the URL; a buffer of 10 messages"
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
        files = ["-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
        return Start([self.program(), *files, "-p", str(folder)])

    def ready_request(self) -> tuple[str, str] | None:
        # It listens before it is connected to Redis, and answers 503 until then.
        return "POST", "/pub/ready"


class Sockudo(Peer):
    name, protocol = "Sockudo", "pusher"
    without = "no user tokens, no conditions: one public channel per audience; closes the connection after each publish"
    without_on_redis = BEFORE_REDIS
    # Heartbeats come every ten seconds. A node that knows no other publishes nothing.
    join_seconds = 12.0

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
        limits = ("MAX_CONNECTIONS", "MAX_BACKEND_EVENTS_PER_SECOND")
        environment |= {f"SOCKUDO_DEFAULT_APP_{name}": MANY for name in limits}
        environment |= {
            "HOST": "127.0.0.1",
            "PORT": str(port),
            "ADAPTER_DRIVER": driver,
            # Its Redis adapter requires the Redis cache.
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
    without = "no tokens, no conditions: one room per audience, one Node process"
    without_on_redis = BEFORE_REDIS

    def install(self) -> None:
        need_package("node", "nodejs", "npm")
        run(["npm", "ci", "--no-audit", "--no-fund"], cwd=HERE / "socketio")

    @staticmethod
    def program() -> pathlib.Path | str:
        return "node"

    def start(self, port: int, folder: pathlib.Path, redis_port: int) -> Start:
        redis = [f"redis://127.0.0.1:{redis_port}"] if self.has_redis else []
        server = str(HERE / "socketio" / "server.mjs")
        return Start([self.program(), server, str(port), *redis], {"NODE_ENV": "production"})


class Nats(Peer):
    name, protocol = "NATS", "nats"
    without = "no tokens, no conditions, no HTTP: one subject per audience, published over WebSocket; a plain bus"

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
