/** Bundles a test's program into one file: from sources it starts five times slower, and such tests start dozens. */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { buildSync } from 'esbuild'
import type { Owner } from './running-daemon.ts'

/** Some bundled packages are CommonJS, and load Node's modules with `require`. */
const BANNER =
  "import { createRequire as requireHere } from 'node:module'; const require = requireHere(import.meta.url);"

/** @param source full path of a module @returns path of the file, with the addons beside it; removed with the test */
export function builtProgram(t: Owner, source: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantroom-built-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(import.meta.dirname, '../../native'), join(folder, 'native'))
  const outfile = join(folder, `${basename(source, '.ts')}.mjs`)
  buildSync({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    banner: { js: BANNER },
    sourcemap: true,
    logLevel: 'error',
  })
  return outfile
}
