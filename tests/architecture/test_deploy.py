"""The deployment files fit the program: its settings, its port, its routes, its limits, its time to stop."""

from __future__ import annotations

import ipaddress
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import holdfast
from holdfast import AsyncHoldfast
from holdfast.api.rest.app import app_of
from holdfast.api.rest.request_body import MAX_ARCHIVE_BYTES
from holdfast.api.rest.server import KEEP_ALIVE_SECONDS
from holdfast.documents.fetch.addresses import FetchPolicy, is_public
from holdfast.documents.types import ParseLimits
from holdfast.models.llm.endpoint import VENDORS
from holdfast.service.document_worker import MAX_CONCURRENT_DOCUMENTS
from holdfast.service.settings import Settings
from holdfast.storage.in_memory import MemoryVault
from holdfast.testing import HashingEmbedder, ScriptedExtractor
from support.paths import ROOT

KUBERNETES = ROOT / "deploy" / "kubernetes"
DEPLOY = [
    path
    for path in sorted((ROOT / "deploy").rglob("*"))
    if path.is_file() and not path.with_suffix(".example.yaml").exists()  # somebody's filled-in copy
]
FILES = [ROOT / "Dockerfile", ROOT / ".dockerignore", ROOT / "compose.yaml", *DEPLOY]
YAML = [path for path in FILES if path.suffix == ".yaml"]
NGINX = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
PORT = Settings().port
STOPPING = 30
"""Seconds that `holdfast serve` gives to what is in flight."""
NOT_PASSED = {"data", "cache", "open_files", "host", "port"}
"""Settings of a data folder, which servers on a database have not, and those that the image and the proxy agree on."""


def resource_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text("utf-8")))


def manifest(kind: str) -> dict[str, Any]:
    found = [each for path in YAML if KUBERNETES in path.parents for each in documents(path) if each["kind"] == kind]
    assert len(found) == 1, kind
    return found[0]


@pytest.fixture
def compose() -> dict[str, Any]:
    return documents(ROOT / "compose.yaml")[0]


@pytest.fixture
def pod() -> dict[str, Any]:
    return manifest("Deployment")["spec"]["template"]["spec"]


@pytest.fixture
def stage() -> list[list[str]]:
    """The words of each instruction of the image's final stage."""
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    last = max(n for n, line in enumerate(lines) if line.startswith("FROM "))
    return [line.split(maxsplit=1) for line in lines[last:]]


def instruction_value(stage: list[list[str]], instruction: str) -> str:
    return [words for name, words in stage if name == instruction][-1]


def directive(name: str) -> str:
    found = re.findall(rf"^\s*{name} ([^;]+);", NGINX, re.M)
    assert len(found) == 1, name
    return found[0]


def size(text: str) -> int:
    """Bytes, as nginx, compose and Kubernetes write them."""
    number, unit = re.fullmatch(r"(\d+)([mMgG])i?", text).groups()  # type: ignore[union-attr]
    return int(number) << {"m": 20, "g": 30}[unit.lower()]


def seconds(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(s|m|h)", text).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


@pytest.mark.parametrize("path", YAML, ids=resource_name)
def test_yaml_can_be_read(path: Path) -> None:
    assert all(isinstance(each, dict) for each in documents(path))


def test_kustomize_finds_every_manifest() -> None:
    (told,) = documents(KUBERNETES / "kustomization.yaml")
    there = {path.name for path in YAML if path.parent == KUBERNETES and not path.name.endswith(".example.yaml")}
    assert set(told["resources"]) == there - {"kustomization.yaml"}


@pytest.mark.parametrize("path", FILES, ids=resource_name)
def test_every_variable_is_a_setting(path: Path) -> None:
    known = {f"HOLDFAST_{name.upper()}" for name in Settings._fields}
    assert set(re.findall(r"\bHOLDFAST_[A-Z_]+\b", path.read_text("utf-8"))) - known == set()


def test_compose_starts_only_with_its_secrets_given(compose: dict[str, Any]) -> None:
    text = (ROOT / "compose.yaml").read_text("utf-8")
    needed = set(re.findall(r"\$\{(\w+):\?", text))
    assert needed == {"POSTGRES_PASSWORD", "HOLDFAST_ADMIN_TOKEN"}
    example = (ROOT / "deploy" / ".env.example").read_text("utf-8")
    assert set(re.findall(r"^(\w+)=$", example, re.M)) == needed
    asked = {name for name, value in compose["services"]["holdfast"]["environment"].items() if value is None}
    asked |= set(re.findall(r"\$\{(\w+):-", text))
    assert set(re.findall(r"^# (\w+)=", example, re.M)) == asked


def test_the_image_is_for_both_sorts_of_storage(stage: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    image = dict(word.split("=", 1) for word in instruction_value(stage, "ENV").split())
    assert image["HOLDFAST_DATA"] == instruction_value(stage, "VOLUME")
    monkeypatch.setenv("HOLDFAST_DATA", image["HOLDFAST_DATA"])
    monkeypatch.setenv("HOLDFAST_STORE", "postgres://holdfast@postgres/holdfast")
    assert Settings.read().store == "postgres://holdfast@postgres/holdfast"


def test_nothing_runs_as_root(stage: list[list[str]], pod: dict[str, Any], compose: dict[str, Any]) -> None:
    user, _, group = instruction_value(stage, "USER").partition(":")
    assert int(user) > 0
    assert int(group) > 0
    as_whom = pod["securityContext"]
    assert (as_whom["runAsNonRoot"], as_whom["runAsUser"], as_whom["runAsGroup"]) == (True, int(user), int(group))
    assert f"/data:uid={user},gid={group},mode=0700" in compose["services"]["holdfast"]["tmpfs"]
    assert compose["services"]["proxy"]["user"] not in ("0", "root")


def test_the_root_file_system_is_read_only(pod: dict[str, Any], compose: dict[str, Any]) -> None:
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert compose["services"]["holdfast"]["read_only"]


def test_one_port_everywhere(stage: list[list[str]], pod: dict[str, Any]) -> None:
    assert instruction_value(stage, "EXPOSE") == str(PORT)
    assert f"or {PORT})" in instruction_value(stage, "HEALTHCHECK")
    assert [port["containerPort"] for port in pod["containers"][0]["ports"]] == [PORT]
    name = pod["containers"][0]["ports"][0]["name"]
    (port,) = manifest("Service")["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (PORT, name)
    assert manifest("NetworkPolicy")["spec"]["ingress"][0]["ports"] == [{"port": name}]
    assert f"server holdfast:{PORT} " in NGINX


async def test_probes_ask_for_what_there_is(
    stage: list[list[str]], pod: dict[str, Any], compose: dict[str, Any]
) -> None:
    async with AsyncHoldfast(MemoryVault(), HashingEmbedder(), ScriptedExtractor()) as memory:
        routes = app_of(memory).openapi()["paths"]
    (container,) = pod["containers"]
    asked = [container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")]
    assert asked == ["/healthz", "/healthz", "/readyz"]
    asked += re.findall(r"'GET', '(/\w+)'", instruction_value(stage, "HEALTHCHECK"))
    asked += re.findall(r"8080(/\w+)", compose["services"]["proxy"]["healthcheck"]["test"][-1])
    assert len(asked) == 5
    assert [path for path in asked if "get" not in routes.get(path, {})] == []


def test_the_command_is_run_without_a_shell(stage: list[list[str]]) -> None:
    assert json.loads(instruction_value(stage, "ENTRYPOINT")) == ["holdfast", "serve", "--host", "0.0.0.0"]
    assert json.loads(instruction_value(stage, "HEALTHCHECK").partition(" CMD ")[2])[0] == "python"


def test_there_is_time_to_stop(pod: dict[str, Any], compose: dict[str, Any]) -> None:
    for name in ("holdfast", "proxy"):
        assert seconds(compose["services"][name]["stop_grace_period"]) > STOPPING
    before = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod["terminationGracePeriodSeconds"] > before + STOPPING


def test_the_service_does_not_set_the_port(pod: dict[str, Any]) -> None:
    """Kubernetes would put HOLDFAST_PORT=tcp://… for a Service of this name into every pod."""
    assert pod["enableServiceLinks"] is False


def test_selectors_find_the_pods() -> None:
    spec = manifest("Deployment")["spec"]
    labels = spec["template"]["metadata"]["labels"]
    chosen = [spec["selector"], manifest("PodDisruptionBudget")["spec"]["selector"]]
    chosen += [manifest("NetworkPolicy")["spec"]["podSelector"]]
    chosen += [each["labelSelector"] for each in spec["template"]["spec"]["topologySpreadConstraints"]]
    assert [each["matchLabels"] for each in chosen] == [labels] * len(chosen)
    assert manifest("Service")["spec"]["selector"] == labels
    scaled = manifest("HorizontalPodAutoscaler")["spec"]
    assert scaled["scaleTargetRef"]["name"] == manifest("Deployment")["metadata"]["name"]
    assert scaled["minReplicas"] == spec["replicas"] == 3
    assert pod_secret(spec) == manifest("Secret")["metadata"]["name"]


def pod_secret(spec: dict[str, Any]) -> str:
    return str(spec["template"]["spec"]["containers"][0]["envFrom"][0]["secretRef"]["name"])


def test_proxies_let_through_what_the_service_takes() -> None:
    annotations = manifest("Ingress")["metadata"]["annotations"]
    sizes = [directive("client_max_body_size")]
    sizes += [annotations["nginx.ingress.kubernetes.io/proxy-body-size"], annotations["nginx.org/client-max-body-size"]]
    assert [text for text in sizes if size(text) <= max(MAX_ARCHIVE_BYTES, Settings().document_bytes)] == []


def test_uploads_fit_into_the_temporary_space(pod: dict[str, Any], compose: dict[str, Any]) -> None:
    """An archive; a document that arrives, as a form and as a file; those that are parsed, as fetched and copied."""
    document = Settings().document_bytes
    parsed = MAX_CONCURRENT_DOCUMENTS * (FetchPolicy(received_bytes=document).decoded_bytes + document)
    needed = MAX_ARCHIVE_BYTES + 2 * document + parsed
    (tmpfs,) = [each for each in compose["services"]["holdfast"]["tmpfs"] if each.startswith("/tmp:")]
    (volume,) = [each for each in pod["volumes"] if each["name"] == "tmp"]
    assert size(tmpfs.removeprefix("/tmp:size=")) >= needed
    assert size(volume["emptyDir"]["sizeLimit"]) >= needed


def test_documents_can_be_parsed_within_the_limit_of_memory(pod: dict[str, Any]) -> None:
    resources = pod["containers"][0]["resources"]
    parsing = MAX_CONCURRENT_DOCUMENTS * ParseLimits().memory_bytes
    assert size(resources["limits"]["memory"]) >= size(resources["requests"]["memory"]) + parsing


def test_every_setting_of_a_server_on_a_database_can_be_passed(compose: dict[str, Any]) -> None:
    (sealed,) = documents(ROOT / "deploy" / "compose.sealed.yaml")
    passed = {*compose["services"]["holdfast"]["environment"], *sealed["services"]["holdfast"]["environment"]}
    assert {f"HOLDFAST_{name.upper()}" for name in Settings._fields if name not in NOT_PASSED} <= passed


def test_the_image_has_what_its_settings_and_documents_need() -> None:
    (extras,) = re.findall(r'^ARG EXTRAS="([a-z0-9 ]+)"$', (ROOT / "Dockerfile").read_text("utf-8"), re.M)
    assert {"postgres", "documents", "s3"} <= set(extras.split())


def test_pods_reach_models_pages_and_buckets_and_nothing_private() -> None:
    (outside,) = [rule for rule in manifest("NetworkPolicy")["spec"]["egress"] if "ipBlock" in rule.get("to", [{}])[0]]
    ports = {each["port"] for each in outside["ports"]}
    assert ports == set(FetchPolicy().ports)
    remote = {vendor.url for vendor in VENDORS.values() if vendor.url and "127.0.0.1" not in vendor.url}
    assert {url for url in remote if not url.startswith("https://")} == set()
    blocks = [each["ipBlock"] for each in outside["to"]]
    assert [block["cidr"] for block in blocks] == ["0.0.0.0/0", "::/0"]
    refused = [ipaddress.ip_network(each) for block in blocks for each in block["except"]]
    assert [net for net in refused if is_public(net[0]) or is_public(net[-1])] == []
    for private in ("10.1.2.3", "100.64.0.1", "169.254.169.254", "172.20.0.1", "192.168.1.1", "fd00::1", "fe80::1"):
        assert any(ipaddress.ip_address(private) in net for net in refused), private


def test_proxies_pass_events_on_at_once() -> None:
    annotations = manifest("Ingress")["metadata"]["annotations"]
    assert directive("proxy_buffering") == annotations["nginx.ingress.kubernetes.io/proxy-buffering"] == "off"
    assert annotations["nginx.org/proxy-buffering"] == "False"
    assert seconds(directive("proxy_read_timeout")) >= 3600


def test_proxies_write_no_secret_urls_into_logs() -> None:
    written = " ".join(re.findall(r"log_format[^;]+;", NGINX))
    assert not re.search(r"\$(request|request_uri|uri|args|query_string|http_\w+)\b", written)
    assert directive("error_log").endswith(" crit")
    annotations = manifest("Ingress")["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/enable-access-log"] == "false"


def test_the_proxy_drops_idle_connections_before_the_server_does() -> None:
    assert seconds(directive("keepalive_timeout")) < KEEP_ALIVE_SECONDS


def test_every_foreign_image_can_be_given_by_digest(compose: dict[str, Any]) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    (base,) = re.findall(r"^ARG BASE_IMAGE=(\S+)$", dockerfile, re.M)
    assert {name.split()[0] for name in re.findall(r"^FROM (.+)$", dockerfile, re.M)} == {"${BASE_IMAGE}"}
    assert compose["services"]["holdfast"]["build"]["args"] == {"BASE_IMAGE": f"${{BASE_IMAGE:-{base}}}"}
    images = {name: about["image"] for name, about in compose["services"].items() if name != "holdfast"}
    assert {name for name, image in images.items() if not re.fullmatch(r"\$\{\w+_IMAGE:-[^@]+:[^@]+\}", image)} == set()


def test_the_files_name_this_version(stage: list[list[str]], compose: dict[str, Any]) -> None:
    assert ["ARG", f"VERSION={holdfast.__version__}"] in stage
    assert compose["services"]["holdfast"]["image"] == f"holdfast:{holdfast.__version__}"
    (told,) = documents(KUBERNETES / "kustomization.yaml")
    assert told["images"][0]["newTag"] == holdfast.__version__
    assert f"holdfast:{holdfast.__version__}" in (ROOT / "deploy" / "README.md").read_text("utf-8")


def test_servers_learn_from_the_proxy_that_the_client_used_tls(compose: dict[str, Any], pod: dict[str, Any]) -> None:
    assert "proxy_set_header X-Forwarded-Proto $http_x_forwarded_proto;" in NGINX
    assert compose["services"]["holdfast"]["environment"]["FORWARDED_ALLOW_IPS"] == "*"
    assert {"name": "FORWARDED_ALLOW_IPS", "value": "*"} in pod["containers"][0]["env"]
