/** Tells a script whether it was started, or imported by its test. */
import { realpathSync } from 'node:fs'

/** True in the file that node was started with. `meta` is the file's own `import.meta`. */
export function isMain(meta: ImportMeta): boolean {
  const started = process.argv[1]
  return started !== undefined && realpathSync(started) === meta.filename
}
