/** The script of the installer, on folders of the test: what a power cut left half is put right by the next try. */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { t } from 'tap'

const script = readFileSync(join(import.meta.dirname, '../installer/install.sh'), 'utf8')

/** What asks the machine, or changes it outside of the folders. */
const PLAYED = `
id() { echo 0; }
uname() { echo x86_64; }
dpkg-query() { return 1; }
systemctl() { :; }
sync() { echo "$(ls "$BED/var/lib/plantroom/update/trust" 2>/dev/null | tr '\\n' ' ')" >>"$BED/synced"; }
`

t.test('B.routes.install.sh a root that is not whole does not shut out every update', async (t) => {
  const bed = t.testdir({
    release: { plantroom: '#!/bin/sh\n', 'root.json': 'the root of the release' },
    run: { systemd: { system: {} } },
    var: { lib: { plantroom: { update: { trust: { 'root.json': '' } } } } },
    unpacked: {},
  })
  const sum = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(bed, 'release', name)))
      .digest('hex')
  const manifest = `plantroom 755 ${sum('plantroom')}\nroot.json 644 ${sum('root.json')}\n`
  writeFileSync(join(bed, 'release/MANIFEST'), manifest)
  execFileSync('chmod', ['755', join(bed, 'release/plantroom')])
  const packed = join(bed, 'unpacked/release.tar.gz')
  execFileSync('tar', ['-czf', packed, '-C', join(bed, 'release'), 'MANIFEST', 'plantroom', 'root.json'])
  writeFileSync(join(bed, 'unpacked/node-24.21.0-amd64.gz'), gzipSync('node'))
  const bundle = createHash('sha256').update(manifest).digest('hex')
  writeFileSync(join(bed, 'unpacked/facts'), `version=1.0.0\nbundle=${bundle}\nnode=24.21.0\n`)
  const here = script.replaceAll(/(?<!\w)\/(?=(?:opt|var|etc|usr|run)\/)/g, `${bed}/`)
  const install = () =>
    spawnSync('bash', ['-c', PLAYED + here, 'install.sh', '--yes'], {
      cwd: join(bed, 'unpacked'),
      env: { ...process.env, BED: bed },
      encoding: 'utf8',
    })
  const trust = join(bed, 'var/lib/plantroom/update/trust')

  const first = install()
  t.equal(first.status, 0, first.stderr)
  t.equal(readFileSync(join(trust, 'root.json'), 'utf8'), 'the root of the release')
  t.same(readdirSync(trust), ['root.json'])
  t.match(readFileSync(join(bed, 'synced'), 'utf8'), /^root\.json root\.json\.new $/m, 'on the disk before it counts')

  writeFileSync(join(trust, 'root.json'), 'one that an operator put there')
  t.equal(install().status, 0)
  t.equal(readFileSync(join(trust, 'root.json'), 'utf8'), 'one that an operator put there')
})
