# groupsync as a container: docs/deploy.md says how to build and run it. Needs no BuildKit.
#
# Node.js 26 ("Lithium") is LTS until April 2029. For builds that repeat to the byte, name an image by its digest:
# --build-arg NODE_IMAGE=node:26-trixie-slim@sha256:…
ARG NODE_IMAGE=node:26-trixie-slim
# An SBOM also lists package-lock.json: a scanner of the image doesn't see the packages inside of the program's few files.
ARG BUILDKIT_SBOM_SCAN_CONTEXT=true

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY .npmrc package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY build build
COPY src src
RUN npm run build
# dist has all packages in it but the vendors' clients of secret stores. The image gets those that the build is told:
# --build-arg STORE_CLIENTS="@aws-sdk/client-secrets-manager@3.1162.0"; docs/deploy.md has the list. Versions that are in
# package-lock.json come with what that file locks. No --prefix: with one, npm passes over the npmrc of the base image.
ARG STORE_CLIENTS
RUN npm pkg delete dependencies devDependencies scripts && if [ -n "$STORE_CLIENTS" ]; then \
      npm install --no-save --save-prod --omit=dev --ignore-scripts --prefer-offline $STORE_CLIENTS && \
      find node_modules -type d -empty -delete; \
    else rm -r node_modules; fi
# Readable for everybody, whatever the umask was under which they were checked out. COPY --chmod would need BuildKit.
COPY LICENSE ./
RUN rm -r .npmrc package-lock.json tsconfig.json build src && chmod -R u=rwX,go=rX .

FROM ${NODE_IMAGE}
WORKDIR /opt/groupsync
COPY --from=build /build ./
RUN ln -s /opt/groupsync/dist/main.js /usr/local/bin/groupsync

# The page and the probes are for others than the container itself, which 127.0.0.1 would shut out.
ENV GROUPSYNC_CONFIG=/etc/groupsync/config.yaml \
    GROUPSYNC_HTTP_LISTEN=0.0.0.0:8080
EXPOSE 8080

# By number: Kubernetes' runAsNonRoot can't tell who a name is. It owns no file here, and writes none but a plan of
# more than 10,000 entries, into /tmp: the root filesystem may be read-only where /tmp is a tmpfs.
USER 10001:10001

# Of the daemon; a `sync` has no port to ask, so switch it off there (--no-healthcheck). Port 9090 is
# GROUPSYNC_HTTP_LISTEN=0.0.0.0:9090, and not http.listen in the config, which isn't known here.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
    CMD ["node", "-e", "fetch('http://localhost:' + process.env.GROUPSYNC_HTTP_LISTEN.split(':').at(-1) + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# No tini: groupsync handles SIGTERM and SIGINT itself, which a PID 1 has to, and starts no processes whose ends
# somebody would have to wait for. env, in its first line, becomes node: node is PID 1.
STOPSIGNAL SIGTERM
# prlimit becomes groupsync in its turn: a core dump would hold the API key and tokens, and Kubernetes has no setting for it.
ENTRYPOINT ["prlimit", "--core=0", "groupsync"]
CMD ["run"]

# Last, because they change with every build.
ARG VERSION
ARG REVISION
ARG CREATED
ARG SOURCE
LABEL org.opencontainers.image.title="groupsync" \
      org.opencontainers.image.description="Keeps the user groups of a dashboard service equal to the tenants in your database, and their tokens where your application reads them." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.source="${SOURCE}"
