"""The metrics of /metrics: requests, counted here, and what the running Holdfast counts of its own work."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from holdfast.service.runtime import Runtime


class RequestCounts:
    """The registry of all metrics, and those that requests change."""

    def __init__(self, runtime: Runtime) -> None:
        # Else each counter also has a gauge of when it was first counted.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Counter("holdfast_requests", "Requests answered.", labels, registry=self.registry)
        self.seconds = Histogram(
            "holdfast_request_seconds", "Time to the first byte of the answer.", ("method", "route"),
            registry=self.registry, buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
        )  # fmt: skip
        self.streams = Gauge("holdfast_event_streams", "Open event streams.", registry=self.registry)
        self.registry.register(ActivityCollector(runtime))
        ProcessCollector(registry=self.registry)  # memory, CPU time and open files, on Linux


class ActivityCollector(Collector):
    """Reads the counts of background work and models when Prometheus asks; it asks no storage."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def collect(self) -> Iterator[Metric]:
        backlog, activity = self._runtime.worker.backlog(), self._runtime.worker.activity
        yield GaugeMetricFamily(
            "holdfast_backlog_profiles", "Profiles with messages to digest, memories to embed or documents to parse.",
            backlog.profiles,
        )  # fmt: skip
        yield GaugeMetricFamily(
            "holdfast_backlog_seconds", "How long the work that waits longest has waited.", backlog.seconds
        )
        yield CounterMetricFamily("holdfast_messages_digested", "Messages digested.", activity.digested)
        failures = CounterMetricFamily(
            "holdfast_failures", "Background work that failed; of digestion, messages.", labels=["work"]
        )
        for work in ("digestion", "documents", "maintenance"):
            failures.add_metric([work], activity.failures[work])
        yield failures
        documents = CounterMetricFamily("holdfast_documents", "Attempts at parsing a document.", labels=["outcome"])
        for outcome in ("done", "failed", "retried"):
            documents.add_metric([outcome], activity.documents[outcome])
        yield documents
        yield from self._spending()

    def _spending(self) -> Iterator[Metric]:
        activity, call = self._runtime.worker.activity, ["model", "task"]
        calls = CounterMetricFamily("holdfast_model_calls", "Calls of language models.", labels=call)
        for labels, count in activity.calls.items():
            calls.add_metric(labels, count)
        tokens = CounterMetricFamily("holdfast_model_tokens", "Tokens of those calls.", labels=[*call, "kind"])
        for token_labels, count in activity.tokens.items():
            tokens.add_metric(token_labels, count)
        cost = CounterMetricFamily("holdfast_model_cost", "Cost of those calls, by llm_price.", labels=call)
        for labels, amount in activity.cost.items():
            cost.add_metric(labels, amount)
        yield from (calls, tokens, cost)
        yield CounterMetricFamily(
            "holdfast_model_refusals", "Calls of language models that a ceiling prevented.", activity.refusals
        )
