/** Tells whether a script was started directly, or imported by its test. */
import { realpathSync } from 'node:fs'

/** Whether this is the file that node was started with. `meta` is the file's own `import.meta`. */
export function isMain(meta: ImportMeta): boolean {
  const started = process.argv[1]
  return started !== undefined && realpathSync(started) === meta.filename
}
