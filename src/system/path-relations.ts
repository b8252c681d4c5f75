/** Relates absolute paths to directories, without asking the disk. */

/** Returns whether a path is a directory or below this directory. */
export function isBelow(path: string, directory: string): boolean {
  return directory === "/" || path === directory || path.startsWith(`${directory}/`);
}

/** Returns the absolute path of a name. @param name path relative to the directory */
export function pathIn(directory: string, name: string): string {
  return directory === "/" ? `/${name}` : `${directory}/${name}`;
}

/** Converts an absolute path to a path relative to a parent directory. */
export function nameIn(directory: string, path: string): string {
  return path.slice(directory === "/" ? 1 : directory.length + 1);
}
