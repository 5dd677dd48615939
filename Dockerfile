# A node as an image: `docker build --tag carillon .`
#
# Without settings it is a node alone, with its catalogue in /var/lib/carillon; docker-compose.yml makes a cluster of it.

FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY . .
RUN cargo build --locked --release --package carillon && strip target/release/carillon

FROM debian:bookworm-slim
# Whom rediss:// trusts; copied, so that the image needs no package beside its base.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# By number, so that a host that demands another user than root can see that this one is.
RUN groupadd --gid 10001 carillon \
    && useradd --uid 10001 --gid carillon --no-create-home --home-dir /var/lib/carillon --shell /usr/sbin/nologin carillon \
    && install --directory --owner carillon --group carillon --mode 700 /var/lib/carillon
COPY --from=build /build/target/release/carillon /usr/local/bin/
USER 10001:10001
ENV CARILLON__DATA__DIR=/var/lib/carillon CARILLON__HTTP__BIND=0.0.0.0:8080
EXPOSE 8080
# Alive, not ready: a node whose bus is away keeps its sessions and must not be restarted for it. The balancer asks /readyz.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 CMD ["bash", "-c", \
    "address=$(</var/lib/carillon/node.address) && exec 3<>/dev/tcp/127.0.0.1/${address##*:} && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && read -r -t 2 line <&3 && [[ $line == *' 200 '* ]]"]
ENTRYPOINT ["carillon"]
CMD ["serve"]
