/**
 * Keeps out of a bundle, and out of memory, what a daemon never uses. What each plugin saves is measured:
 * docs/decisions/idle-memory-and-speed.md.
 */
import { readFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join } from 'node:path'
import type { Loader, Plugin } from 'esbuild'

const require = createRequire(import.meta.url)

/** Modules of Node that packages import for a case of their own: loaded when something of them is first used. */
const LATE = ['http2', 'https', 'tls', 'dgram', 'child_process', 'cluster']

/**
 * Node's modules by `require`: an ES import of one reads all its exports at once, and with those of `http` comes
 * Node's whole fetch, which costs 14 MB.
 */
export function builtinsPlugin(): Plugin {
  return {
    name: 'builtins',
    setup(esbuild) {
      esbuild.onResolve({ filter: /^[a-z0-9_:/]+$/ }, ({ path, namespace }) => {
        if (!isBuiltin(path)) return undefined
        return namespace === 'builtin' ? { path, external: true } : { path: nameOf(path), namespace: 'builtin' }
      })
      esbuild.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
        contents: LATE.includes(path) ? lateModule(path) : `module.exports = require('node:${path}')`,
        loader: 'js',
      }))
    },
  }
}

function nameOf(path: string): string {
  return path.replace(/^node:/, '')
}

/** The same names as the module itself, each a getter. The Node that bundles is the one that runs the bundle. */
function lateModule(name: string): string {
  const names = Object.keys(require(`node:${name}`) as object)
  return [
    'let loaded',
    `const load = () => (loaded ??= require('node:${name}'))`,
    `for (const name of ${JSON.stringify(names)})`,
    '  Object.defineProperty(exports, name, { enumerable: true, get: () => load()[name] })',
  ].join('\n')
}

/**
 * TypeBox gives `Type` and `Value` as objects that hold everything it can do. Written as namespaces, and with its
 * files known to do nothing by being loaded, only what is called goes into the bundle.
 */
export function typeboxPlugin(): Plugin {
  return {
    name: 'typebox',
    setup(esbuild) {
      esbuild.onLoad({ filter: /\/(kit|daemons|scripts)\/.*\.ts$/ }, ({ path }) => ({
        contents: readFileSync(path, 'utf8').replace(
          /^import \{ (?:type \w+, )*(Type|Value) \} from '(typebox(?:\/value)?)'$/gm,
          "import * as $1 from '$2'",
        ),
        loader: 'ts' satisfies Loader,
      }))
      esbuild.onResolve({ filter: /^typebox/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === 'typebox') return undefined
        const found = await esbuild.resolve(path, { importer, kind, resolveDir, pluginData: 'typebox' })
        return { ...found, sideEffects: false }
      })
      // Its own thousands of imports name files as they lie there: asking esbuild for each would be most of a build's time.
      esbuild.onResolve({ filter: /^\.\.?\/.*\.mjs$/ }, ({ path, importer, resolveDir }) =>
        importer.includes('/node_modules/typebox/') ? { path: join(resolveDir, path), sideEffects: false } : undefined,
      )
    },
  }
}

/** What is spared: who imports it, what it asks for, and what stands in its place. */
interface Spared {
  importer: string
  path: RegExp
  contents: string
}

/** Parts of packages that a daemon has no use for. Everything else of them is there. */
const SPARED: readonly Spared[] = [
  // Traces of OpenTelemetry as exemplars of a histogram.
  { importer: 'prom-client', path: /^@opentelemetry\/api$/, contents: 'module.exports = {}' },
  // Metrics gathered from workers of node:cluster, and pushed to a gateway instead of being asked for.
  { importer: 'prom-client', path: /^\.\/lib\/(cluster|pushgateway)$/, contents: 'module.exports = class {}' },
  // Fastify asks of each plugin whether it was made for this version; the package can forty things more.
  {
    importer: 'fastify',
    path: /^semver$/,
    contents: ['satisfies', 'gt', 'coerce']
      .map((name) => `exports.${name} = require('semver/functions/${name}')`)
      .join('\n'),
  },
  // Log lines written by another thread. kit/log.ts hands in a stream of its own.
  { importer: 'pino', path: /^(\.\/lib|\.)\/transport$/, contents: 'module.exports = undefined' },
  // For Node before 10.
  { importer: 'duplexify', path: /^readable-stream$/, contents: "module.exports = require('stream')" },
  // Ports and servers of its own. It is given a port by io/modbus-serial-pdu.ts.
  { importer: 'modbus-serial', path: /^\.\/(ports|servers)\//, contents: 'module.exports = class {}' },
  { importer: 'modbus-serial', path: /^\.\/apis\/(connection|worker)$/, contents: 'module.exports = () => {}' },
]

/** Puts the stand-ins of SPARED in. */
export function sparingPlugin(): Plugin {
  return {
    name: 'sparing',
    setup(esbuild) {
      esbuild.onResolve({ filter: /transport|semver|stream|api|cluster|pushgateway|ports|servers/ }, (asked) => {
        const at = SPARED.findIndex(
          ({ importer, path }) => path.test(asked.path) && asked.importer.includes(`/node_modules/${importer}/`),
        )
        return at < 0 ? undefined : { path: `${at}`, namespace: 'spared', pluginData: asked.resolveDir }
      })
      esbuild.onLoad({ filter: /.*/, namespace: 'spared' }, ({ path, pluginData }) => ({
        contents: SPARED[Number(path)]?.contents ?? '',
        loader: 'js',
        resolveDir: pluginData as string,
      }))
    },
  }
}
