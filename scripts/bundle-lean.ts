/**
 * Keeps unused code out of bundles and memory. The savings of each plugin are in
 * docs/decisions/idle-memory-and-speed.md.
 */
import { readFileSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { join } from 'node:path'
import type { Loader, Plugin } from 'esbuild'

const require = createRequire(import.meta.url)

/**
 * Node modules that packages import for special cases: loaded on first use. That of `util` is here since an import looks at each of its
 * exports, and some of them load more of Node when they are looked at.
 */
const LATE = ['http2', 'https', 'tls', 'dgram', 'child_process', 'cluster', 'util']

/**
 * Loads Node's modules with `require`: an ES import reads all exports of a module at once, and those of `http` include
 * Node's fetch, which costs 14 MB.
 */
export function builtinsPlugin(): Plugin {
  return {
    name: 'builtins',
    setup(esbuild) {
      esbuild.onResolve({ filter: /^[a-z0-9_:/]+$/ }, ({ path, namespace }) => {
        if (!isBuiltin(path)) return undefined
        return namespace === 'builtin' ? { path, external: true } : { path: nameOf(path), namespace: 'builtin' }
      })
      esbuild.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({ contents: moduleOf(path), loader: 'js' }))
    },
  }
}

function nameOf(path: string): string {
  return path.replace(/^node:/, '')
}

function moduleOf(name: string): string {
  if (name === 'assert') return `${CALLED_ASSERT}\n${lateModule(name)}`
  return LATE.includes(name) ? lateModule(name) : `module.exports = require('node:${name}')`
}

/** Packages call `assert` for what holds: Node's module, which compares and prints values, is loaded once something does not. */
const CALLED_ASSERT = 'exports = module.exports = (...said) => said[0] || load()(...said)'

/** A module with the same exports, each a getter. The Node that bundles also runs the bundle. */
function lateModule(name: string): string {
  const names = Object.keys(require(`node:${name}`) as object)
  return [
    'let loaded',
    `const load = () => (loaded ??= require('node:${name}'))`,
    `for (const name of ${JSON.stringify(names)})`,
    '  Object.defineProperty(exports, name, { enumerable: true, get: () => load()[name] })',
  ].join('\n')
}

/** Loads ajv once kit/http/check.ts has something to check: a start has not, and what ajv does when it is loaded is a thirtieth of it. */
export function lateAjvPlugin(): Plugin {
  return {
    name: 'late ajv',
    setup(esbuild) {
      esbuild.onResolve({ filter: /^ajv$/ }, ({ path, importer, resolveDir }) =>
        importer.endsWith('/kit/http/check.ts') ? { path, namespace: 'late', pluginData: resolveDir } : undefined,
      )
      esbuild.onLoad({ filter: /.*/, namespace: 'late' }, ({ pluginData }) => ({
        contents: "Object.defineProperty(exports, 'Ajv', { enumerable: true, get: () => require('ajv').Ajv })",
        resolveDir: pluginData,
        loader: 'js',
      }))
    },
  }
}

/**
 * TypeBox exports `Type` and `Value` as objects that hold all its functions. Rewritten as namespaces, and with its
 * files marked as free of side effects, only the functions called enter the bundle.
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
      // Resolved here, since asking esbuild for each of its thousands of relative imports would take most of a build's
      // time.
      esbuild.onResolve({ filter: /^\.\.?\/.*\.mjs$/ }, ({ path, importer, resolveDir }) =>
        importer.includes('/node_modules/typebox/') ? { path: join(resolveDir, path), sideEffects: false } : undefined,
      )
    },
  }
}

/** Part of a package to leave out: who imports it, by which names, and its replacement. */
interface LeftOut {
  /** Files of the package that import it. */
  from: string
  asked: readonly string[]
  contents: string
}

/**
 * Parts that packages offer no option to leave out. A stand-in replaces a whole module by its exact name; no source is
 * inspected or changed. The end-to-end tests prove that nothing needs them: they drive the built daemons with their
 * metrics, their log and every Modbus function code.
 */
const LEFT_OUT: readonly LeftOut[] = [
  // OpenTelemetry traces as exemplars of a histogram.
  {
    from: 'prom-client/lib/metrics/processCpuTotal.js',
    asked: ['@opentelemetry/api'],
    contents: 'module.exports = {}',
  },
  // Metrics collected from node:cluster workers, and pushed to a gateway instead of scraped.
  {
    from: 'prom-client/index.js',
    asked: ['./lib/cluster', './lib/pushgateway'],
    contents: 'module.exports = class {}',
  },
  // Whether a plugin is made for this Fastify: package-lock.json names both, and tests of the sources check them.
  {
    from: 'fastify/lib/plugin-utils.js',
    asked: ['semver'],
    contents: 'exports.satisfies = () => true',
  },
  // Whether patterns in paths are quick, its own three included: ours have none.
  { from: 'find-my-way/index.js', asked: ['safe-regex2'], contents: 'module.exports = () => true' },
  // Its own body validation and serialization, which kit/http/server.ts switches off.
  {
    from: 'fastify/lib/schema-controller.js',
    asked: ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler'],
    contents: 'module.exports = undefined',
  },
  // Requests without a socket, for tests.
  { from: 'fastify/fastify.js', asked: ['light-my-request'], contents: 'module.exports = undefined' },
  // Mock serial lines, for tests.
  { from: 'serialport/dist/index.js', asked: ['./serialport-mock'], contents: 'module.exports = {}' },
  // Logging in another thread: kit/log.ts provides its own stream.
  { from: 'pino/lib/tools.js', asked: ['./transport'], contents: 'module.exports = undefined' },
  { from: 'pino/pino.js', asked: ['./lib/transport'], contents: 'module.exports = undefined' },
  // Sockets, WebSockets and proxies that it opens itself: kit/net/mqtt/client.ts provides the stream. Timers in a worker
  // of a browser: it provides the clock's.
  { from: 'mqtt/build/mqtt.js', asked: ['./lib/connect'], contents: 'module.exports = {}' },
  { from: 'mqtt/build/lib/get-timer.js', asked: ['worker-timers'], contents: 'module.exports = {}' },
  // A pool, an addon, addresses, passwords of ~/.pgpass and sockets of a cloud's: daemons/updates/io/postgres.ts has one
  // connection, and reads its address and password itself.
  { from: 'pg/lib/index.js', asked: ['pg-pool', './native'], contents: 'module.exports = class {}' },
  { from: 'pg/lib/connection-parameters.js', asked: ['pg-connection-string'], contents: 'module.exports = {}' },
  { from: 'pg/lib/client.js', asked: ['pgpass'], contents: 'module.exports = undefined' },
  { from: 'pg/lib/stream.js', asked: ['pg-cloudflare'], contents: 'module.exports = {}' },
  // Lines and sockets that it opens itself, and threads: io/modbus-serial-codec.ts provides the port.
  {
    from: 'modbus-serial/index.js',
    asked: [
      './apis/connection',
      './apis/worker',
      './ports/c701port',
      './ports/rtubufferedport',
      './ports/tcpport',
      './ports/tcprtubufferedport',
      './ports/telnetport',
      './ports/testport',
      './servers/serverserial',
      './servers/servertcp',
    ],
    contents: 'module.exports = function () {}',
  },
]

/**
 * Installs the stand-ins.
 * @throws Error, through esbuild, if a bundled package no longer imports one of them, so that the list stays true
 */
export function leaveOutPlugin(): Plugin {
  return {
    name: 'leave out',
    setup(esbuild) {
      const met = new Set<string>()
      const left = new Set(LEFT_OUT.flatMap(({ from, asked }) => asked.map((path) => `${path} of ${from}`)))
      esbuild.onResolve({ filter: /.*/ }, ({ path, importer, resolveDir }) => {
        const [, asker = ''] = importer.split('/node_modules/')
        met.add(packageOf(asker))
        const one = LEFT_OUT.find(({ from, asked }) => from === asker && asked.includes(path))
        left.delete(`${path} of ${asker}`)
        return one ? { path, namespace: 'left out', pluginData: { ...one, resolveDir } } : undefined
      })
      esbuild.onLoad({ filter: /.*/, namespace: 'left out' }, ({ pluginData }) => ({
        contents: pluginData.contents,
        resolveDir: pluginData.resolveDir,
        loader: 'js',
      }))
      esbuild.onEnd(() => {
        const gone = [...left].filter((name) => met.has(packageOf(name.slice(name.indexOf(' of ') + 4))))
        return { errors: gone.map((name) => ({ text: `nobody asks for ${name} any more: scripts/bundle-lean.ts` })) }
      })
    },
  }
}

/** @param path below node_modules */
function packageOf(path: string): string {
  return path.split('/', 1)[0] ?? ''
}

/** Old packages replaced by the Node module they stand in for. */
export const ALIASES = { 'readable-stream': 'stream' }
