# SPDX-License-Identifier: Apache-2.0
# For scripts that mount the share by davfs2: as a folder of this machine, in a namespace of its own, where its settings, its cache
# and its mount are nobody else's.  Source it behind web.sh.

# What is missing here for a mount; nothing, when it may be tried.
lacks_davfs2() {
    [ -x /sbin/mount.davfs ] || [ -x /usr/sbin/mount.davfs ] || { echo 'no davfs2'; return; }
    [ -c /dev/fuse ] || { echo 'no /dev/fuse'; return; }
    [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || echo 'nobody but root may mount'
}

# mounted COMMANDS: in a shell whose $dir is the share; it is unmounted behind them, which is when davfs2 sends the last of it.
# $secrets: a line of its file of passwords.  $trusted: an authority's certificate, for https.
mounted() {
    printf '%s\n' "$1" >"$scratch/commands"
    URL="$http/" SECRETS="${secrets:-}" TRUSTED="${trusted:-}" SCRATCH="$scratch" timeout 120 unshare -m sh -eu -c '
        # davfs2 is a user of its own soon, who has no way into the scratch folder.
        mount -t tmpfs tmpfs /mnt
        mkdir /mnt/upper /mnt/work /mnt/cache /mnt/dir
        dir=/mnt/dir
        mount -t overlay overlay -o "lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work" /etc
        mount -t tmpfs tmpfs /run
        grep -q ^davfs2: /etc/group || echo davfs2:x:64999: >>/etc/group
        grep -q ^davfs2: /etc/passwd || echo davfs2:x:64999:64999::/nonexistent:/bin/false >>/etc/passwd
        mkdir -p /etc/davfs2
        printf "ask_auth 0\ncache_dir /mnt/cache\ndelay_upload 0\nbackup_dir lost\n" >/etc/davfs2/davfs2.conf
        [ -z "$TRUSTED" ] || {
            mkdir -p /etc/davfs2/certs
            cp "$TRUSTED" /etc/davfs2/certs/trusted.pem
            echo "trust_ca_cert trusted.pem" >>/etc/davfs2/davfs2.conf
        }
        printf "%s\n" "${SECRETS:-}" >/etc/davfs2/secrets
        chmod 600 /etc/davfs2/secrets
        mkdir -p /run/mount.davfs
        chown davfs2:davfs2 /run/mount.davfs /mnt/cache
        chmod 1775 /run/mount.davfs
        mount.davfs "$URL" "$dir" </dev/null
        (cd "$dir" && . "$SCRATCH/commands") && status=0 || status=$?
        umount.davfs "$dir" >"$SCRATCH/umount" 2>&1 || umount "$dir"
        exit $status'
}

can_mount() {
    mounted : >"$scratch/mount" 2>&1 || {
        sed 's/^/# /' "$scratch/mount" >&2
        return 1
    }
}
