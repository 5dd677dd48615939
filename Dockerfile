# A node as an image: `docker build --tag carillon .`
#
# Without settings the container is a single node with its catalogue in /var/lib/carillon. docker-compose.yml starts a
# cluster.

FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY . .
# The revision for carillon_build_info, since .git is not copied: --build-arg CARILLON_REVISION="$(git rev-parse HEAD)".
ARG CARILLON_REVISION=""
RUN cargo build --locked --release --package carillon && strip target/release/carillon

FROM debian:bookworm-slim
# The certificates that rediss:// trusts, copied so that the image needs no further package.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# A numeric id, so that a host that refuses root can check it.
RUN groupadd --gid 10001 carillon \
    && useradd --uid 10001 --gid carillon --no-create-home --home-dir /var/lib/carillon --shell /usr/sbin/nologin carillon \
    && install --directory --owner carillon --group carillon --mode 700 /var/lib/carillon
COPY --from=build /build/target/release/carillon /usr/local/bin/
USER 10001:10001
ENV CARILLON__DATA__DIR=/var/lib/carillon CARILLON__HTTP__BIND=0.0.0.0:8080
EXPOSE 8080
# This checks that the node is alive, not that it is ready: a node without its bus keeps its sessions, and a restart
# would end them. The load balancer asks /readyz.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 CMD ["bash", "-c", \
    "address=$(</var/lib/carillon/node.address) && exec 3<>/dev/tcp/127.0.0.1/${address##*:} && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r -t 2 line <&3 && [[ $line == *' 200 '* ]]"]
ENTRYPOINT ["carillon"]
CMD ["serve"]
