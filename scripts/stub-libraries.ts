/**
 * Replaces the libraries of another architecture when linking an addon for it: empty ones with the right names, since
 * linking needs only the names. So no packages of a foreign architecture are needed.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Sonames of all libraries that the addons link with. */
const SONAMES: Readonly<Record<string, string>> = {
  'gstaudio-1.0': 'libgstaudio-1.0.so.0',
  'gstbase-1.0': 'libgstbase-1.0.so.0',
  'gstreamer-1.0': 'libgstreamer-1.0.so.0',
  'gobject-2.0': 'libgobject-2.0.so.0',
  'glib-2.0': 'libglib-2.0.so.0',
  asound: 'libasound.so.2',
}

/** The names after -l in a binding.gyp. */
export function linkedLibraries(gyp: string): string[] {
  return [...gyp.matchAll(/"-l([^"]+)"/g)].map(([, name]) => name ?? '')
}

/**
 * Creates them in `folder`, for a linker called with `-L<folder>`.
 * @param compiler for the other architecture
 * @throws Error if a library is unknown here, or the compiler refuses
 */
export function makeStubs(folder: string, compiler: string, gypFile: string): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const source = join(folder, 'empty.c')
  writeFileSync(source, '')
  for (const name of linkedLibraries(readFileSync(gypFile, 'utf8'))) {
    const soname = SONAMES[name]
    if (soname === undefined) throw new Error(`${gypFile} links with ${name}, whose soname is not in the table`)
    const args = ['-shared', '-nostdlib', `-Wl,-soname,${soname}`, '-o', join(folder, `lib${name}.so`), source]
    const done = spawnSync(compiler, args, { encoding: 'utf8' })
    if (done.status !== 0) throw new Error(`no stub for ${name}:\n${done.stderr}`)
  }
}
