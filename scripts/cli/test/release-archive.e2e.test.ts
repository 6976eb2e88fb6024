/** The archive of what is built: it runs where there is nothing but Node, and names itself by its release. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { readManifest } from '#kit/release/manifest.ts'
import { daemonNames } from '../daemons.ts'
import { packRelease, releaseFiles } from '../release-archive.ts'
import { outerFolder } from './small-checkout.ts'

const CHECKOUT = join(import.meta.dirname, '../../..')
const ARCH = process.arch === 'arm64' ? 'arm64' : 'amd64'

t.test('B.publish an unpacked release runs without any package of npm, under its own version', async (t) => {
  const folder = outerFolder(t)
  const tree = join(folder, 'tree')
  mkdirSync(tree)
  const release = {
    path: 'release.json',
    mode: 0o644,
    from: Buffer.from('{"commit":null,"node":"24.0.0","version":"9.8.7-beta.1"}\n'),
  }
  await packRelease([...releaseFiles(CHECKOUT, ARCH), release], join(folder, 'a.tar.gz'))
  execFileSync('tar', ['-xzf', join(folder, 'a.tar.gz'), '-C', tree])
  const changed = readManifest(readFileSync(join(tree, 'MANIFEST'))).filter(
    ({ path, sha256 }) =>
      createHash('sha256')
        .update(readFileSync(join(tree, path)))
        .digest('hex') !== sha256,
  )
  t.same(changed, [])
  // Node has versions of its own: who installs a release puts it there.
  symlinkSync(process.execPath, join(tree, 'node'))
  const run = (...words: string[]) =>
    execFileSync(join(tree, 'plantroom'), words, { encoding: 'utf8', cwd: '/', env: {} })
  t.equal(run('--version'), '9.8.7-beta.1\n')
  for (const daemon of daemonNames(tree)) {
    t.equal(run(daemon, '--version'), '9.8.7-beta.1\n', daemon)
    t.match(run(daemon, '--help'), /Runs until SIGTERM/, daemon)
  }
  t.match(run('updates', 'keys', '--help'), /rotate makes the next root/)
})

t.test('the same build gives the same archive', async (t) => {
  const folder = outerFolder(t)
  const files = releaseFiles(CHECKOUT, ARCH)
  const one = await packRelease(files, join(folder, 'one'))
  t.same(await packRelease([...files].reverse(), join(folder, 'other')), one)
  t.ok(readFileSync(join(folder, 'one')).equals(readFileSync(join(folder, 'other'))))
})
