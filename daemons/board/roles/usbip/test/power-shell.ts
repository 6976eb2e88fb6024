/** Parses PowerShell with tree-sitter, since neither Debian nor npm has a package of the real one. */
import { fileURLToPath } from 'node:url'
import { Language, Parser, type Tree } from 'web-tree-sitter'

const grammar = fileURLToPath(import.meta.resolve('tree-sitter-powershell/tree-sitter-powershell.wasm'))
await Parser.init()
const parser = new Parser()
parser.setLanguage(await Language.load(grammar))

/** One node of the tree. */
export type PowerShellNode = Tree['rootNode']

/** The syntax tree of a whole script, errors included. */
export function parsePowerShell(text: string): PowerShellNode {
  const tree = parser.parse(text)
  if (!tree) throw new Error('the parser gave up')
  return tree.rootNode
}

/** All nodes of a kind, in the order of the text. */
export function nodesOf(node: PowerShellNode, kind: string): PowerShellNode[] {
  return node.descendantsOfType(kind).filter((one) => one !== null)
}

/**
 * The value of an expression that joins single-quoted strings and characters by number; undefined if it contains
 * anything else.
 */
export function literalOf(expression: PowerShellNode): string | undefined {
  const leaves: PowerShellNode[] = []
  const walk = (node: PowerShellNode) => {
    if (node.childCount === 0) leaves.push(node)
    else for (const child of node.children) if (child) walk(child)
  }
  walk(expression)
  let value = ''
  for (const { type, text } of leaves) {
    if (type === 'verbatim_string_characters') value += text.slice(1, -1).replaceAll("''", "'")
    else if (type === 'hexadecimal_integer_literal') value += String.fromCharCode(Number(text))
    else if (type === 'type_identifier' && text === 'char') continue
    else if (!['(', ')', '+', '[', ']'].includes(type)) return undefined
  }
  return value
}
