/** Values in shell scripts. */

/**
 * A text as one word of a POSIX shell, whatever is in it: in single quotes nothing has a meaning but the quote itself.
 * A zero byte cannot be in a word: the text ends before it, as it does in the kernel.
 * @source POSIX.1-2017, Shell Command Language, 2.2.2
 */
export function quoteShell(text: string): string {
  const [word = ''] = text.split('\0', 1)
  return `'${word.replaceAll("'", "'\\''")}'`
}
