# A node as an image: `docker build --tag carillon .`
#
# The image holds the static program, the certificates that TLS connections trust, and an empty data folder. It has no
# shell and no libraries. `docker run carillon COMMAND` runs any command of the program.
# Without settings the container is a single node with its catalogue in /var/lib/carillon. docker-compose.yml starts a
# cluster.

FROM rust:1.95-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends musl-tools
RUN rustup target add "$(uname -m)-unknown-linux-musl"
WORKDIR /build
COPY . .
# The revision for carillon_build_info, since .git is not copied: --build-arg CARILLON_REVISION="$(git rev-parse HEAD)".
ARG CARILLON_REVISION=""
RUN cargo build --locked --profile dist --package carillon --target "$(uname -m)-unknown-linux-musl"
# A numeric id, so that a host that refuses root can check it.
RUN install -D "target/$(uname -m)-unknown-linux-musl/dist/carillon" /image/usr/local/bin/carillon \
    && install -D --mode 644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
    && install --directory --mode 1777 /image/tmp \
    && install --directory --owner 10001 --group 10001 --mode 700 /image/var/lib/carillon

FROM scratch
COPY --from=build /image/ /
USER 10001:10001
ENV PATH=/usr/local/bin CARILLON__DATA__DIR=/var/lib/carillon CARILLON__HTTP__BIND=0.0.0.0:8080
EXPOSE 8080
# This checks that the node is alive, not that it is ready: a node without its bus keeps its sessions, and a restart
# would end them. The load balancer asks /readyz.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 CMD ["carillon", "health"]
ENTRYPOINT ["carillon"]
CMD ["serve"]
