# The image of Sluice. It compiles nothing at run time, writes only to /data and /tmp, and does not run as root.
# tests/deployment runs these steps without Docker.
ARG PYTHON=python:3.11-slim-bookworm

FROM ${PYTHON} AS builder
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY .ci/requirements.txt .ci/requirements-dev.txt .ci/
# Without pip: the service does not need it, so the image's Python installs into the environment from outside.
RUN python -m venv --without-pip /opt/sluice
RUN python -m pip --python /opt/sluice/bin/python install --require-hashes --only-binary :all: -r .ci/requirements.txt
# The build tools are only in the lock file for developers. With --require-hashes, a missing dependency is an error.
RUN awk '/^[^ #]/ { wanted = /^(hatchling|packaging|pathspec|pluggy|tomlkit|trove-classifiers)==/ } wanted' \
        .ci/requirements-dev.txt > requirements-build.txt
RUN python -m venv /build/tools
RUN /build/tools/bin/pip install --require-hashes --only-binary :all: -r requirements-build.txt
COPY pyproject.toml ./
COPY app app
COPY kernels kernels
RUN /build/tools/bin/pip wheel --no-deps --no-build-isolation --wheel-dir wheels .
RUN python -m pip --python /opt/sluice/bin/python install --no-deps --no-index wheels/*.whl
# Compile for any processor of this architecture, not only for that of the build. The last stage sets both again; otherwise
# Numba would use another cache and compile.
ENV NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/opt/sluice/compiled
RUN /opt/sluice/bin/sluice warm

FROM ${PYTHON}
LABEL org.opencontainers.image.title="Sluice" \
      org.opencontainers.image.description="Online anomaly detection that learns from every label the moment it arrives." \
      org.opencontainers.image.version="0.1.0"
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin sluice
RUN install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=builder /opt/sluice /opt/sluice
ENV PATH=/opt/sluice/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/opt/sluice/compiled \
    SLUICE_HOST=0.0.0.0 SLUICE_PORT=8000 SLUICE_DATA_DIR=/data
WORKDIR /data
VOLUME ["/data"]
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
# http.client ignores proxy settings.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["python", "-c", "import http.client, os, sys; asked = http.client.HTTPConnection('127.0.0.1', int(os.environ['SLUICE_PORT']), timeout=2); asked.request('GET', '/readyz'); sys.exit(asked.getresponse().status != 200)"]
ENTRYPOINT ["sluice"]
CMD ["serve"]
