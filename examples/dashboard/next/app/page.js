export default function Index() {
  return <p>the app</p>;
}
