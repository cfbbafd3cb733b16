import DefaultTheme from 'vitepress/theme-without-fonts';
import './site.css';
import MermaidDiagram from './MermaidDiagram.vue';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('MermaidDiagram', MermaidDiagram);
  },
};
