# The HTTP service: docker run --read-only --cap-drop ALL -p 127.0.0.1:8000:8000 -v RUN:/model:ro -v facts:/data IMAGE
# The run is /model, observed facts go to /data, compiled loops and caches to /cache; nothing else is written.
ARG PYTHON=python:3.11.14-slim-bookworm
FROM ${PYTHON} AS build
ARG TORCH=https://download.pytorch.org/whl/cpu
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /build
COPY requirements/build.lock requirements/service.lock requirements/
RUN python -m venv /opt/build && /opt/build/bin/pip install --require-hashes -r requirements/build.lock
RUN python -m venv /opt/fitcarl \
    && /opt/fitcarl/bin/pip install --require-hashes --extra-index-url ${TORCH} -r requirements/service.lock
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/build/bin/python -m build --wheel --no-isolation --outdir /wheel . \
    && /opt/fitcarl/bin/pip install --no-deps /wheel/*.whl \
    && /opt/fitcarl/bin/pip uninstall --yes pip

FROM ${PYTHON}
LABEL org.opencontainers.image.title="fitcarl" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/fitcarl /opt/fitcarl
# /cache holds machine code that the service loads: nobody else may write there.
RUN useradd --uid 10001 --no-create-home --home-dir /cache --shell /usr/sbin/nologin fitcarl \
    && install -d -o fitcarl -g fitcarl -m 700 /cache /data
ENV PATH=/opt/fitcarl/bin:$PATH HOME=/cache FITCARL_HOME=/cache/fitcarl NUMBA_CACHE_DIR=/cache/loops \
    PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /data
VOLUME ["/cache", "/data"]
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/v1/health', timeout=4)"]
ENTRYPOINT ["fitcarl"]
CMD ["serve", "/model", "--host", "0.0.0.0", "--port", "8000", "--store", "/data/observed.sqlite"]
