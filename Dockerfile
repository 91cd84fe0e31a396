# A static binary on an empty base, run by an unprivileged user. The root file system may be read-only
# (docker run --read-only): only database.spool_dir, where it is set, needs a place to write, and /var/lib/hs2proxy is one. Nothing is
# written to /tmp.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /hs2proxy ./cmd/hs2proxy
RUN mkdir -m 0700 /state

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/share/zoneinfo /usr/share/zoneinfo
COPY --from=build /hs2proxy /hs2proxy
COPY --from=build --chown=65532:65532 /state /var/lib/hs2proxy
COPY configs/hs2proxy.yaml /etc/hs2proxy/hs2proxy.yaml
USER 65532:65532
EXPOSE 10000
ENTRYPOINT ["/hs2proxy"]
CMD ["serve", "--config", "/etc/hs2proxy/hs2proxy.yaml"]
