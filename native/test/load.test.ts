/** Addons are found beside the sources and beside a bundle. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { loadAddon } from '../load.ts'

const NATIVE = join(import.meta.dirname, '..')

t.test('loads an addon from the sources', (t) => {
  t.match(loadAddon('process'), { send: Function })
  t.end()
})

t.test('names where it looked when there is none', (t) => {
  t.throws(() => loadAddon('teapot'), { message: /addon teapot is not at .*teapot\.node; run make build$/ })
  t.end()
})

t.test('loads an addon from native/ beside a bundle', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bundle-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const entry = join(folder, 'entry.ts')
  writeFileSync(entry, `export { notify } from '${NATIVE}/process/index.ts'`)
  mkdirSync(join(folder, 'build/native/process'), { recursive: true })
  cpSync(join(NATIVE, 'process/prebuilds'), join(folder, 'build/native/process/prebuilds'), { recursive: true })
  const outfile = join(folder, 'build/daemon.mjs')
  await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm' })
  const { notify } = await import(pathToFileURL(outfile).href)
  const inherited = process.env.NOTIFY_SOCKET
  process.env.NOTIFY_SOCKET = '/nonexistent/socket'
  t.throws(() => notify('READY=1'), { code: 'ENOENT', syscall: 'connect' }, 'the addon answered')
  if (inherited === undefined) delete process.env.NOTIFY_SOCKET
  else process.env.NOTIFY_SOCKET = inherited
})
