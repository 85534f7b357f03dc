# syntax=docker/dockerfile:1
# deploy/README.md says how to pin it by digest.
ARG BASE_IMAGE=python:3.13-slim-trixie

FROM ${BASE_IMAGE} AS builder
RUN pip install --no-cache-dir --root-user-action=ignore uv==0.13.7 \
 && python -m venv --without-pip /opt/holdfast
ENV UV_NO_CACHE=1 UV_COMPILE_BYTECODE=1 VIRTUAL_ENV=/opt/holdfast
WORKDIR /build

# From the slowest to the liveliest, so that a change of the code downloads nothing again.
COPY scripts/fetch_models.py scripts/
RUN python scripts/fetch_models.py

# The lock constrains: what the service does not need stays out, the rest has the lock's versions and hashes.
ARG EXTRAS="postgres fast documents s3"
COPY pyproject.toml requirements.lock ./
# hadolint ignore=SC2046
RUN uv pip install --constraints requirements.lock --requirements pyproject.toml $(printf -- '--extra %s ' ${EXTRAS})

COPY hatch_build.py README.md LICENSE NOTICE ./
COPY licenses licenses
COPY src src
# The build backend has the lock's version and hashes too, and is not part of the image.
RUN uv pip install --system --constraints requirements.lock hatchling \
 && pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist . \
 && uv pip install --no-deps dist/holdfast-*.whl


FROM ${BASE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Holdfast" \
      org.opencontainers.image.description="Memory for AI agents, as an HTTP service" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

COPY --from=builder /opt/holdfast /opt/holdfast
RUN install -d -o 10001 -g 10001 -m 0700 /data
# onnxruntime would note what it runs for its makers; Holdfast sends nothing anywhere.
ENV PATH=/opt/holdfast/bin:$PATH PYTHONDONTWRITEBYTECODE=1 ORT_DISABLE_TELEMETRY=1 HOLDFAST_DATA=/data

# A number, so that Kubernetes can see that it is not root.
USER 10001:10001
# Used only without HOLDFAST_STORE.
VOLUME /data
EXPOSE 8420

# http.client, since urllib would ask a proxy that the environment names.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --start-interval=1s --retries=3 \
  CMD ["python", "-c", "import http.client as h, os; c = h.HTTPConnection('127.0.0.1', int(os.environ.get('HOLDFAST_PORT') or 8420), timeout=4); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]

ENTRYPOINT ["holdfast", "serve", "--host", "0.0.0.0"]
