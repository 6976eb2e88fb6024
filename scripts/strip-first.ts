/**
 * Loads all test files in one process before the first of them runs, so that Node's compile cache has them without their
 * types. Otherwise each process of a first run loads the compiler that strips types (0.1 CPU s), for its own files and
 * for whatever the others have not written yet.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** It takes four; without it the tests strip types themselves, as all do that are changed later. */
const MOST_S = 60

/** A file in the folder of the cache: it was filled once. */
const DONE = 'all-stripped'

interface Wish {
  files: readonly string[]
  /** What the files are relative to. */
  folder: string
  /** The compile cache. */
  cache: string
  /** Arguments of Node. */
  nodeArgs: readonly string[]
}

/** Fills a compile cache that never was filled. @returns whether it did so, and could load all of them */
export async function stripFirst({ files, folder, cache, nodeArgs }: Wish): Promise<boolean> {
  if (existsSync(join(cache, DONE))) return false
  const args = [...nodeArgs, '--input-type=module', '-']
  const env = { ...process.env, NODE_COMPILE_CACHE: cache }
  const stdio: ['pipe', 'ignore', 'ignore'] = ['pipe', 'ignore', 'ignore']
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio, timeout: MOST_S * 1000 })
  // Modules run in the order of their imports, once all are loaded: the first ends the process, so no test runs.
  const imports = ['data:text/javascript,process.exit()', ...files.map((file) => `./${file}`)]
  child.stdin.on('error', () => {}).end(imports.map((name) => `import ${JSON.stringify(name)}\n`).join(''))
  const code = await new Promise((resolve) => {
    child.on('error', resolve)
    child.on('close', resolve)
  })
  if (code !== 0) return false
  mkdirSync(cache, { recursive: true })
  writeFileSync(join(cache, DONE), '')
  return true
}
