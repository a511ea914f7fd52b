# The top layer of the sandbox image: what Hasten itself brings. It is apart from Dockerfile so that a change here
# takes a second, not a minute, and installed dependencies outlive it (they depend on the image below only).
ARG BASE=hasten-sandbox-toolchain:latest
FROM ${BASE}
USER 0:0
COPY egress-shim.mjs /opt/hasten/
COPY harness/ /opt/hasten/harness/
# A checkout made under a strict umask must still be readable for bot.
RUN chmod -R a+rX /opt/hasten
USER 10001:10001
