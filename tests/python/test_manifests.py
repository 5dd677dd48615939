"""Validates the files of deploy/ and config/ that operators copy: with the schemas of Kubernetes, the check of each
proxy, and `carillon config check`."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import tomllib
import unittest

import kubernetes_validate
import yaml
from node import DEADLINE_SECONDS, ROOT, program

DEPLOY = ROOT / "deploy"
# The oldest Kubernetes that its project supports, and the newest for which the pinned package has schemas.
KUBERNETES_VERSIONS = ["1.34", "1.37"]
PING_SECONDS = 60


def manifests() -> dict[str, dict]:
    """Each Kubernetes manifest by its file name. A file has one manifest."""
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return {file.stem: yaml.safe_load(file.read_text()) for file in files}


def run(*command: object) -> None:
    """Runs a check. Fails with its output."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    if done.returncode:
        raise AssertionError(f"{command[0]} ends with {done.returncode}\n{done.stdout}{done.stderr}")


class Kubernetes(unittest.TestCase):
    def container(self) -> dict:
        [container] = manifests()["deployment"]["spec"]["template"]["spec"]["containers"]
        return container

    def settings(self) -> dict:
        return tomllib.loads(manifests()["configmap"]["data"]["cluster.toml"])

    def test_every_manifest_is_valid_by_the_schemas_of_kubernetes(self):
        found = {manifest["kind"] for manifest in manifests().values()}
        self.assertEqual(found, {"ConfigMap", "Deployment", "Ingress", "PodDisruptionBudget", "Service"})
        for version in KUBERNETES_VERSIONS:
            for manifest in manifests().values():
                with self.subTest(version=version, kind=manifest["kind"]):
                    kubernetes_validate.validate(manifest, version, strict=True)

    def test_a_manifest_with_an_unknown_field_is_refused(self):
        manifest = manifests()["deployment"]
        manifest["spec"]["template"]["spec"]["terminationGracePeriod"] = 30
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(manifest, KUBERNETES_VERSIONS[-1], strict=True)

    def test_the_pod_is_killed_only_after_notice_and_shutdown(self):
        pod = manifests()["deployment"]["spec"]["template"]["spec"]
        shutdown = self.settings()["shutdown"]
        self.assertGreater(pod["terminationGracePeriodSeconds"], shutdown["notice_seconds"] + shutdown["seconds"])

    def test_services_stop_sending_clients_before_sessions_are_closed(self):
        probe = self.container()["readinessProbe"]
        noticed = (probe["periodSeconds"] + probe["timeoutSeconds"]) * probe["failureThreshold"]
        self.assertGreater(self.settings()["shutdown"]["notice_seconds"], noticed)

    def test_readiness_asks_readyz_and_liveness_healthz(self):
        paths = {name: self.container()[name]["httpGet"]["path"] for name in self.container() if name.endswith("Probe")}
        self.assertEqual(paths, {"readinessProbe": "/readyz", "livenessProbe": "/healthz", "startupProbe": "/healthz"})

    def test_selectors_ports_and_references_name_existing_objects(self):
        all_of_them = manifests()
        labels = all_of_them["deployment"]["spec"]["template"]["metadata"]["labels"]
        for selector in [
            all_of_them["deployment"]["spec"]["selector"]["matchLabels"],
            all_of_them["poddisruptionbudget"]["spec"]["selector"]["matchLabels"],
            all_of_them["service"]["spec"]["selector"],
        ]:
            self.assertLessEqual(selector.items(), labels.items())
        [port] = all_of_them["service"]["spec"]["ports"]
        self.assertIn(port["targetPort"], [port["name"] for port in self.container()["ports"]])
        [rule] = all_of_them["ingress"]["spec"]["rules"]
        backends = [path["backend"]["service"] for path in rule["http"]["paths"]]
        for backend in backends:
            self.assertEqual(backend, {"name": "carillon", "port": {"name": port["name"]}})
        mounts = {mount["mountPath"] for mount in self.container()["volumeMounts"]}
        environment = {entry["name"]: entry.get("value") for entry in self.container()["env"]}
        self.assertEqual(mounts, {"/etc/carillon", environment["CARILLON__DATA__DIR"]})

    def test_the_settings_of_the_config_map_are_valid_with_the_addresses_of_the_secret(self):
        environment = {entry["name"]: entry.get("value") for entry in self.container()["env"]}
        secret = {
            "redis-url": "rediss://:secret@redis:6379",
            "mongodb-uri": "mongodb://carillon:secret@mongo/?tls=true",
        }
        for entry in self.container()["env"]:
            if "valueFrom" in entry:
                environment[entry["name"]] = secret[entry["valueFrom"]["secretKeyRef"]["key"]]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / pathlib.Path(environment.pop("CARILLON_CONFIG")).name
            file.write_text(manifests()["configmap"]["data"][file.name])
            done = subprocess.run(
                [program(), "config", "check", file],
                env=os.environ | environment,
                capture_output=True,
                text=True,
                timeout=DEADLINE_SECONDS,
            )
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "ok"), done.stderr)


class Proxies(unittest.TestCase):
    """Each proxy checks its configuration. `tests/run --only install` installs the proxies that Debian has."""

    def test_caddy_accepts_its_configuration(self):
        run("caddy", "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile")

    def test_haproxy_accepts_its_configuration(self):
        run(shutil.which("haproxy") or "/usr/sbin/haproxy", "-c", "-f", ROOT / "config" / "haproxy.cfg")

    def test_nginx_accepts_its_configuration(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            run(
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=push.example.com", "-keyout", folder / "key", "-out", folder / "certificate",
            )  # fmt: skip
            server = (DEPLOY / "nginx.conf").read_text()
            server = server.replace("/etc/ssl/push.example.com.pem", str(folder / "certificate"))
            server = server.replace("/etc/ssl/push.example.com.key", str(folder / "key"))
            (folder / "server.conf").write_text(server)
            main = f"pid {folder}/pid; error_log stderr; events {{}} http {{ include {folder}/server.conf; }}"
            (folder / "nginx.conf").write_text(main)
            run("/usr/sbin/nginx", "-t", "-c", folder / "nginx.conf")

    def test_traefik_routes_clients_and_emits_to_ready_nodes(self):
        # Debian has no Traefik, so only the names that our pages use are checked.
        static = yaml.safe_load((DEPLOY / "traefik" / "traefik.yml").read_text())
        dynamic = yaml.safe_load((DEPLOY / "traefik" / "dynamic.yml").read_text())["http"]
        [router] = dynamic["routers"].values()
        self.assertLessEqual(set(router["entryPoints"]), set(static["entryPoints"]))
        self.assertIn(router["tls"]["certResolver"], static["certificatesResolvers"])
        self.assertEqual(dynamic["services"][router["service"]]["loadBalancer"]["healthCheck"]["path"], "/readyz")
        self.assertEqual(pathlib.Path(static["providers"]["file"]["filename"]).name, "dynamic.yml")

    def test_every_proxy_waits_longer_than_a_node_for_a_silent_session(self):
        # A silent session ends after 2.5 ping intervals. Each configuration waits 180 s.
        self.assertGreater(180, 2.5 * PING_SECONDS)
        for file, line in {
            DEPLOY / "nginx.conf": "proxy_read_timeout 180s;",
            DEPLOY / "traefik" / "traefik.yml": "idleTimeout: 180s",
            ROOT / "config" / "haproxy.cfg": "timeout tunnel 180s",
            DEPLOY / "kubernetes" / "ingress.yaml": 'proxy-read-timeout: "180"',
        }.items():
            self.assertIn(line, file.read_text(), file)


class Systemd(unittest.TestCase):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_accepts_the_unit(self):
        with tempfile.TemporaryDirectory() as folder:
            unit = (DEPLOY / "carillon.service").read_text().replace("/usr/local/bin/carillon", str(program()))
            file = pathlib.Path(folder) / "carillon.service"
            file.write_text(unit)
            run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file)

    def test_systemd_kills_only_after_notice_and_shutdown(self):
        unit = (DEPLOY / "carillon.service").read_text()
        default = tomllib.loads((ROOT / "config" / "default.toml").read_text())["shutdown"]
        [seconds] = [line.split("=")[1] for line in unit.splitlines() if line.startswith("TimeoutStopSec=")]
        self.assertGreater(int(seconds), default["notice_seconds"] + default["seconds"])
