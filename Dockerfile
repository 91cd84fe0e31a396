# A static binary on an empty base, run by an unprivileged user; the file system may be read-only.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o /hs2proxy ./cmd/hs2proxy

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /usr/share/zoneinfo /usr/share/zoneinfo
COPY --from=build /hs2proxy /hs2proxy
COPY configs/hs2proxy.yaml /etc/hs2proxy/hs2proxy.yaml
USER 65532:65532
EXPOSE 10000
ENTRYPOINT ["/hs2proxy"]
CMD ["serve", "--config", "/etc/hs2proxy/hs2proxy.yaml"]
